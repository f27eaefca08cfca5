//! Rejections of calls by tools with their effect on the form, and texts about failures and denials.

use serde_json::Value;

use super::form::{self, Clarification, Form, ParameterFeedback};
use super::shape::Shape;
use super::{scalar, words};
use tool_schema::feedback::{Answer, Choices, Reasons, RejectedAnswer, Report};
use tool_schema::schema::pointer;

/// The feedback about one parameter.
struct ParameterReport<'a> {
    pointer: String,
    /// The parameters that have to be valid first, by pointer.
    requires: Vec<String>,
    report: &'a Report,
}

impl<'a> ParameterReport<'a> {
    fn new(root: &Shape, name: &str, report: &'a Report) -> Self {
        let requires =
            report.rejected.iter().flat_map(Reasons::required).map(|name| find_pointer(root, name)).collect();
        Self { pointer: find_pointer(root, name), requires, report }
    }

    /// Returns whether no value is allowed.
    fn is_dead_end(&self) -> bool {
        self.requires.is_empty() && matches!(&self.report.choices, Choices::Allowed(values) if values.is_empty())
    }

    fn problems(&self) -> &[String] {
        self.report.rejected.as_ref().map_or(&[], Reasons::problems)
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

/// Reads a rejection. Returns `None` if the text is no rejection.
pub fn read(text: &str) -> Option<RejectedAnswer> {
    match serde_json::from_str(text) {
        Ok(Answer::Rejected(refusal)) => Some(refusal),
        _ => None,
    }
}

/// Applies a rejection to the form, so that the model asks again only for rejected parameters. Returns a text for the person,
/// and whether the form can be completed. It cannot if a parameter has no possible value, and no other value can be the cause.
pub fn apply(form: &mut Form, root: &Shape, refusal: &RejectedAnswer) -> (String, bool) {
    form.wanted.clear();
    form.open_list = None;
    form.clarification = None;
    let fields: Vec<ParameterReport<'_>> =
        refusal.reports().iter().map(|(name, report)| ParameterReport::new(root, name, report)).collect();
    let mut texts = refusal.problems().to_vec();
    for field in fields.iter().filter(|field| field.report.is_valid()) {
        texts.extend(store_normalized(form, field));
        texts.extend(field.notes());
    }
    for field in &fields {
        let Report { choices, schema, .. } = field.report;
        let is_valid = field.report.is_valid();
        let is_absent = !is_valid && form.values.pointer(&field.pointer).is_none();
        let is_required_by_others = fields.iter().any(|other| other.requires.contains(&field.pointer));
        let feedback = form.feedback.entry(field.pointer.clone()).or_default();
        let mut dependencies = std::mem::take(&mut feedback.dependencies);
        dependencies.extend(
            field.requires.iter().filter(|dependency| !dependencies.contains(dependency)).cloned().collect::<Vec<_>>(),
        );
        let is_needed = feedback.is_needed || is_absent || is_required_by_others;
        // The person can still change an accepted value to one of the values that the tool offered for it.
        let before = if is_valid { std::mem::take(feedback) } else { ParameterFeedback::default() };
        let (choices, shape) = if *choices == Choices::Open && schema.is_none() {
            (before.choices, before.shape)
        } else {
            (choices.clone(), schema.as_ref().filter(|schema| schema.is_object()).map(Shape::of))
        };
        *feedback = ParameterFeedback { choices, shape, is_accepted: is_valid, is_needed, dependencies };
    }
    let mut may_succeed = true;
    for field in fields.iter().filter(|field| !field.report.is_valid() && field.requires.is_empty()) {
        if field.is_dead_end() {
            let (why, causes) = handle_dead_end(form, &fields, field);
            texts.push(why);
            may_succeed &= !causes.is_empty();
            if !causes.is_empty() {
                form.clarification.get_or_insert(Clarification::Change { pointers: causes });
            }
        } else {
            texts.extend(ask_again(form, root, field));
        }
        texts.extend(field.notes());
    }
    if may_succeed && form.wanted.is_empty() && form.clarification.is_none() && form.next_question(root).is_none() {
        // All rejected parameters depend on others. Ask for missing dependencies, or else for the parameters again.
        let held = fields.iter().filter(|field| !field.report.is_valid());
        let held = held.flat_map(|field| field.requires.iter().map(|dependency| (&field.pointer, dependency)));
        let is_missing =
            |dependency: &String| form.values.pointer(dependency).is_none() && root.at(dependency).is_some();
        let mut missing: Vec<String> = held
            .map(|(waits, dependency)| if is_missing(dependency) { dependency.clone() } else { waits.clone() })
            .collect();
        missing.dedup();
        for pointer in &missing {
            form.unset(pointer);
        }
        form.wanted = missing;
    }
    texts.extend(refusal.remarks().iter().chain(refusal.instructions()).cloned());
    let texts = texts.iter().map(|text| words::shorten(text.trim(), 600)).filter(|text| !text.is_empty());
    (texts.collect::<Vec<_>>().join("\n"), may_succeed)
}

/// Returns the pointer of the parameter that feedback calls `name`. `leg.from` is inside `leg`, unless a parameter has that whole
/// name.
fn find_pointer(root: &Shape, name: &str) -> String {
    let whole = pointer::join("", name);
    let inside = name.split('.').fold(String::new(), |pointer, step| pointer::join(&pointer, step));
    if root.at(&whole).is_some() {
        return whole;
    }
    // The path may lead to an item of a list, or to a place without a schema. Then the model asks for the value around it.
    let is_asked =
        |at: &str| root.at(at).is_some() && at.rsplit('/').next().is_none_or(|step| step.parse::<usize>().is_err());
    let mut at = inside.as_str();
    while !at.is_empty() && !is_asked(at) {
        at = at.rsplit_once('/').map_or("", |(around, _)| around);
    }
    if at.is_empty() { whole } else { at.to_owned() }
}

/// Stores a value as the tool has normalized it, and returns a text that reports the value.
fn store_normalized(form: &mut Form, field: &ParameterReport<'_>) -> Option<String> {
    let value = field.report.normalized.as_ref()?;
    let given = form.values.pointer(&field.pointer).cloned();
    form.store_value(&field.pointer, value.clone());
    let shown = |value: &Value| scalar::to_short_text(value);
    Some(match given.filter(|given| given != value) {
        Some(given) => format!("“{}” is understood as {}.", shown(&given), shown(value)),
        None => format!("{}: {}.", words::capitalize(&form::label(&field.pointer)), shown(value)),
    })
}

/// Marks a rejected parameter to be asked again. Returns the reason, if it is useful to the person.
fn ask_again(form: &mut Form, root: &Shape, field: &ParameterReport<'_>) -> Option<String> {
    let pointer = &field.pointer;
    let nested: Vec<String> =
        field.problems().iter().filter_map(|problem| find_inner_pointer(root, pointer, problem)).collect();
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
        return Some(format!("“{}” does not work for {label}{reasons}", scalar::to_short_text(&value)));
    }
    // No value was given yet: the question itself shows that one is needed, and the possible values.
    let folded = words::fold(&reasons);
    let plain = ["required", "missing", "expected", "needed", "must be given", "provide"];
    let is_obvious = reasons.is_empty()
        || reasons.ends_with('?')
        || field.report.choices != Choices::Open
        || plain.iter().any(|word| folded.contains(word));
    (!is_obvious).then(|| format!("{}: {reasons}.", words::capitalize(&label)))
}

/// Returns a text about a parameter without a possible value, and the pointers of the known values that may be the cause. Marks
/// these as needed. If there are none, removes the parameter's value.
fn handle_dead_end(
    form: &mut Form,
    fields: &[ParameterReport<'_>],
    field: &ParameterReport<'_>,
) -> (String, Vec<String>) {
    let pointer = &field.pointer;
    let dependencies = form.feedback.get(pointer).map(|feedback| feedback.dependencies.clone()).unwrap_or_default();
    let earlier = fields.iter().take_while(|other| other.pointer != *pointer).filter(|other| other.report.is_valid());
    // A rejection does not list accepted dependencies, so each parameter that was accepted before this one may be a cause.
    let mut causes: Vec<String> = earlier.map(|other| other.pointer.clone()).collect();
    causes.extend(dependencies.into_iter().filter(|dependency| !causes.contains(dependency)).collect::<Vec<_>>());
    // A dependent parameter may be the cause: three passengers, and no day with three free seats.
    causes.extend(fields.iter().filter(|other| other.requires.contains(pointer)).map(|other| other.pointer.clone()));
    causes.retain(|at| form.values.pointer(at).is_some());
    for cause in &causes {
        form.feedback.entry(cause.clone()).or_default().is_needed = true;
    }
    let reasons = field.reasons();
    let label = form::label(pointer);
    if causes.is_empty() {
        form.unset(pointer);
        let why = if reasons.is_empty() { " at the moment".to_owned() } else { format!(": {reasons}") };
        return (format!("There is no {label} to choose from{why}."), causes);
    }
    let known = causes.iter().map(|cause| {
        let value = form.values.pointer(cause).map(scalar::to_plain_text).unwrap_or_default();
        format!("{}: {}", form::label(cause), words::shorten(&value, 60))
    });
    let known = known.collect::<Vec<_>>().join(", ");
    let why = if reasons.is_empty() { reasons } else { format!(": {reasons}") };
    (format!("Nothing is possible for {label} with {known}{why}."), causes)
}

/// Returns the pointer inside a parameter that a problem belongs to. Such a problem begins with a path in backticks.
fn find_inner_pointer(root: &Shape, pointer: &str, problem: &str) -> Option<String> {
    let path = problem.strip_prefix('`')?.split_once('`')?.0;
    let inside = format!("/{}", path.replace('.', "/"));
    let below = inside.strip_prefix(pointer)?.starts_with('/');
    let field = inside.rsplit('/').next()?.parse::<usize>().is_err();
    (below && field && root.at(&inside).is_some()).then_some(inside)
}

/// Returns the reason why a call failed, in the words of the tool.
pub fn read_failure_reason(text: &str) -> String {
    let text = text.trim();
    let read: Option<Value> = serde_json::from_str(text).ok();
    let field = |name: &str| read.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let reason = ["error", "message", "reason"].iter().find_map(|name| field(name));
    let reason = reason.or_else(|| read.as_ref()?.as_str().map(str::to_owned)).unwrap_or_else(|| text.to_owned());
    words::shorten(reason.trim(), 600)
}

/// Returns a sentence if a failure is a person's denial, and `None` otherwise.
pub fn describe_denial(text: &str) -> Option<String> {
    let folded = words::fold(text);
    let people = ["by the user", "by a human", "by the person", "by the operator"];
    let refused = ["denied", "declined", "rejected", "refused"];
    let is_denial = refused.iter().any(|verb| people.iter().any(|person| folded.contains(&format!("{verb} {person}"))));
    if !is_denial && !folded.starts_with("the call was denied") {
        return None;
    }
    let why = text.split_once(": ").map(|(_, why)| words::shorten(why.trim().trim_end_matches('.'), 300));
    Some(why.map_or_else(|| "All right, I did not do it.".into(), |why| format!("I did not do it: {why}.")))
}
