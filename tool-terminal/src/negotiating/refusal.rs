//! Rejections of calls by tools, and their effect on the form.

use serde_json::Value;

use super::form::{self, Doubt, Form, Offer};
use super::shape::Shape;
use super::{scalar, words};
use tool_schema::feedback::{Answer, Choices, Reasons, Refusal, Report};
use tool_schema::schema::pointer;

/// The feedback about one parameter.
struct Field<'a> {
    pointer: String,
    /// The parameters that have to be valid first, by pointer.
    requires: Vec<String>,
    report: &'a Report,
}

impl<'a> Field<'a> {
    fn new(root: &Shape, name: &str, report: &'a Report) -> Self {
        let requires = report.refused.iter().flat_map(Reasons::required).map(|name| pointer_of(root, name)).collect();
        Self { pointer: pointer_of(root, name), requires, report }
    }

    /// Returns whether no value is allowed.
    fn is_dead_end(&self) -> bool {
        self.requires.is_empty() && matches!(&self.report.choices, Choices::Allowed(values) if values.is_empty())
    }

    fn problems(&self) -> &[String] {
        self.report.refused.as_ref().map_or(&[], Reasons::problems)
    }

    /// Returns the reasons of the rejection, as one phrase.
    fn reasons(&self) -> String {
        let reasons = self.problems().iter().map(|problem| problem.trim().trim_end_matches('.'));
        reasons.collect::<Vec<_>>().join("; ")
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        self.report.feedback.iter().chain(&self.report.instructions).cloned()
    }
}

/// Reads feedback. Returns `None` if the text is not feedback.
pub fn read(text: &str) -> Option<Refusal> {
    match serde_json::from_str(text) {
        Ok(Answer::Refused(refusal)) => Some(refusal),
        _ => None,
    }
}

/// Applies a rejection to the form, so that only rejected parameters are asked again. Returns a text for the person, and whether
/// the form can still be completed. It cannot if no value is possible and no earlier value is the cause.
pub fn learn(form: &mut Form, root: &Shape, refusal: &Refusal) -> (String, bool) {
    form.wanted.clear();
    form.open = None;
    form.doubt = None;
    let fields: Vec<Field<'_>> =
        refusal.reports().iter().map(|(name, report)| Field::new(root, name, report)).collect();
    let mut texts = refusal.problems().to_vec();
    for field in fields.iter().filter(|field| field.report.is_valid()) {
        texts.extend(understood(form, field));
        texts.extend(field.notes());
    }
    for field in &fields {
        let Report { choices, schema, .. } = field.report;
        let valid = field.report.is_valid();
        let absent = !valid && form.values.pointer(&field.pointer).is_none();
        let needed = fields.iter().any(|other| other.requires.contains(&field.pointer));
        let offer = form.offers.entry(field.pointer.clone()).or_default();
        // Do not show again what the tool has already accepted.
        let mut needs = std::mem::take(&mut offer.needs);
        needs.extend(field.requires.iter().filter(|need| !needs.contains(need)).cloned().collect::<Vec<_>>());
        let must = offer.must || absent || needed;
        // An accepted value can still be changed to the values that were offered for it.
        let before = if valid { std::mem::take(offer) } else { Offer::default() };
        let (choices, shape) = if *choices == Choices::Open && schema.is_none() {
            (before.choices, before.shape)
        } else {
            (choices.clone(), schema.as_ref().filter(|schema| schema.is_object()).map(Shape::of))
        };
        *offer = Offer { choices, shape, accepted: valid, must, needs };
    }
    let mut hope = true;
    for field in fields.iter().filter(|field| !field.report.is_valid() && field.requires.is_empty()) {
        if field.is_dead_end() {
            let (why, causes) = dead_end(form, &fields, field);
            texts.push(why);
            hope &= !causes.is_empty();
            if !causes.is_empty() {
                form.doubt.get_or_insert(Doubt::Change { pointers: causes });
            }
        } else {
            texts.extend(objection(form, root, field));
        }
        texts.extend(field.notes());
    }
    if hope && form.wanted.is_empty() && form.doubt.is_none() && form.next(root).is_none() {
        // All rejected parameters depend on others, so ask for those.
        let held = fields.iter().filter(|field| !field.report.is_valid());
        let held = held.flat_map(|field| field.requires.iter().map(|need| (&field.pointer, need)));
        let lacks = |need: &String| form.values.pointer(need).is_none() && root.at(need).is_some();
        let mut lacking: Vec<String> =
            held.map(|(waits, need)| if lacks(need) { need.clone() } else { waits.clone() }).collect();
        lacking.dedup();
        for pointer in &lacking {
            form.unset(pointer);
        }
        form.wanted = lacking;
    }
    texts.extend(refusal.feedback().iter().chain(refusal.instructions()).cloned());
    let texts = texts.iter().map(|text| words::shorten(text.trim(), 600)).filter(|text| !text.is_empty());
    (texts.collect::<Vec<_>>().join("\n"), hope)
}

/// Returns the pointer of the parameter that feedback calls `name`. `leg.from` is inside `leg`, unless a parameter has that whole
/// name.
fn pointer_of(root: &Shape, name: &str) -> String {
    let whole = pointer::push("", name);
    let inside = name.split('.').fold(String::new(), |pointer, step| pointer::push(&pointer, step));
    if root.at(&whole).is_some() {
        return whole;
    }
    // The path may lead to an item of a list, or to a place without a schema. Then the value around it is asked for.
    let is_asked =
        |at: &str| root.at(at).is_some() && at.rsplit('/').next().is_none_or(|step| step.parse::<usize>().is_err());
    let mut at = inside.as_str();
    while !at.is_empty() && !is_asked(at) {
        at = at.rsplit_once('/').map_or("", |(around, _)| around);
    }
    if at.is_empty() { whole } else { at.to_owned() }
}

/// Adopts a value as the tool normalized it, and returns a text that reports this.
fn understood(form: &mut Form, field: &Field<'_>) -> Option<String> {
    let value = field.report.normalized.as_ref()?;
    let given = form.values.pointer(&field.pointer).cloned();
    form.settle(&field.pointer, value.clone());
    let shown = |value: &Value| scalar::brief(value);
    Some(match given.filter(|given| given != value) {
        Some(given) => format!("“{}” is understood as {}.", shown(&given), shown(value)),
        None => format!("{}: {}.", words::capital(&form::label(&field.pointer)), shown(value)),
    })
}

/// Marks a rejected parameter to be asked again. Returns the reason, if it is useful to the person.
fn objection(form: &mut Form, root: &Shape, field: &Field<'_>) -> Option<String> {
    let pointer = &field.pointer;
    let nested: Vec<String> = field.problems().iter().filter_map(|problem| inner(root, pointer, problem)).collect();
    if !nested.is_empty() {
        for inside in &nested {
            form.unset(inside);
        }
        form.wanted.extend(nested);
        return Some(field.problems().join("\n"));
    }
    let given = form.values.pointer(pointer).cloned();
    form.unset(pointer);
    form.wanted.push(pointer.clone());
    let label = form::label(pointer);
    let reasons = field.reasons();
    if let Some(value) = given {
        let reasons = if reasons.is_empty() { ".".to_owned() } else { format!(": {reasons}.") };
        return Some(format!("“{}” does not work for {label}{reasons}", scalar::brief(&value)));
    }
    // No value was given yet: the question itself shows that one is needed, and the possible values.
    let folded = words::fold(&reasons);
    let plain = ["required", "missing", "expected", "needed", "must be given", "provide"];
    let silent = reasons.is_empty()
        || reasons.ends_with('?')
        || field.report.choices != Choices::Open
        || plain.iter().any(|word| folded.contains(word));
    (!silent).then(|| format!("{}: {reasons}.", words::capital(&label)))
}

/// Returns a text for the person if no value is possible for a parameter, and the earlier values that can be changed.
fn dead_end(form: &mut Form, fields: &[Field<'_>], field: &Field<'_>) -> (String, Vec<String>) {
    let pointer = &field.pointer;
    let needs = form.offers.get(pointer).map(|offer| offer.needs.clone()).unwrap_or_default();
    let earlier = fields.iter().take_while(|other| other.pointer != *pointer).filter(|other| other.report.is_valid());
    // Values that the tool accepted earlier are not among the needs that it reports.
    let mut causes: Vec<String> = earlier.map(|other| other.pointer.clone()).collect();
    causes.extend(needs.into_iter().filter(|need| !causes.contains(need)).collect::<Vec<_>>());
    // A dependent parameter may be the cause: three passengers, and no day with three free seats.
    causes.extend(fields.iter().filter(|other| other.requires.contains(pointer)).map(|other| other.pointer.clone()));
    causes.retain(|at| form.values.pointer(at).is_some());
    for cause in &causes {
        form.offers.entry(cause.clone()).or_default().must = true;
    }
    let reasons = field.reasons();
    let label = form::label(pointer);
    if causes.is_empty() {
        form.unset(pointer);
        let why = if reasons.is_empty() { " at the moment".to_owned() } else { format!(": {reasons}") };
        return (format!("There is no {label} to choose from{why}."), causes);
    }
    let known = causes.iter().map(|cause| {
        let value = form.values.pointer(cause).map(scalar::plain).unwrap_or_default();
        format!("{}: {}", form::label(cause), words::shorten(&value, 60))
    });
    let known = known.collect::<Vec<_>>().join(", ");
    let why = if reasons.is_empty() { reasons } else { format!(": {reasons}") };
    (format!("Nothing is possible for {label} with {known}{why}."), causes)
}

/// Returns the pointer inside a parameter that a problem belongs to. Such a problem begins with a path in backticks.
fn inner(root: &Shape, pointer: &str, problem: &str) -> Option<String> {
    let path = problem.strip_prefix('`')?.split_once('`')?.0;
    let inside = format!("/{}", path.replace('.', "/"));
    let below = inside.strip_prefix(pointer)?.starts_with('/');
    let field = inside.rsplit('/').next()?.parse::<usize>().is_err();
    (below && field && root.at(&inside).is_some()).then_some(inside)
}

/// Returns the reason why a call failed, in the words of the tool.
pub fn reason(text: &str) -> String {
    let text = text.trim();
    let read: Option<Value> = serde_json::from_str(text).ok();
    let field = |name: &str| read.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let reason = ["error", "message", "reason"].iter().find_map(|name| field(name));
    let reason = reason.or_else(|| read.as_ref()?.as_str().map(str::to_owned)).unwrap_or_else(|| text.to_owned());
    words::shorten(reason.trim(), 600)
}

/// Returns a sentence if a failure is a person's denial, and `None` otherwise.
pub fn denial(text: &str) -> Option<String> {
    let folded = words::fold(text);
    let who = ["by the user", "by a human", "by the person", "by the operator"];
    let refused = ["denied", "declined", "rejected", "refused"];
    let by = refused.iter().any(|verb| who.iter().any(|who| folded.contains(&format!("{verb} {who}"))));
    if !by && !folded.starts_with("the call was denied") {
        return None;
    }
    let why = text.split_once(": ").map(|(_, why)| words::shorten(why.trim().trim_end_matches('.'), 300));
    Some(why.map_or_else(|| "All right, I did not do it.".into(), |why| format!("I did not do it: {why}.")))
}
