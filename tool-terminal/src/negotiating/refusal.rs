//! What a tool said when it refused a call, and what that means for the form.

use serde_json::{Map, Value};

use super::ask;
use super::form::{Doubt, Form, Offer};
use super::shape::Shape;
use super::{scalar, words};

/// What a tool said when it refused a call.
pub(super) struct Refusal {
    problems: Vec<String>,
    notes: Vec<String>,
    fields: Vec<Verdict>,
}

/// What it said about one parameter.
struct Verdict {
    /// Its name, and once the tool is known where it stands.
    pointer: String,
    valid: bool,
    problems: Vec<String>,
    notes: Vec<String>,
    requires: Vec<String>,
    allowed: Option<Vec<Value>>,
    suggested: Vec<Value>,
    normalized: Option<Value>,
    shape: Option<Shape>,
}

impl Verdict {
    /// Whether there is nothing to choose from.
    fn is_dead_end(&self) -> bool {
        self.requires.is_empty() && self.allowed.as_ref().is_some_and(Vec::is_empty)
    }

    /// Why it is refused, as one phrase.
    fn reasons(&self) -> String {
        let reasons = self.problems.iter().map(|problem| problem.trim().trim_end_matches('.'));
        reasons.collect::<Vec<_>>().join("; ")
    }
}

/// Reads feedback; `None` where the text is something else.
pub(super) fn read(text: &str) -> Option<Refusal> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let map = value.as_object().filter(|map| map.get("ok") == Some(&Value::Bool(false)))?;
    let fields = map.get("validationResults").and_then(Value::as_object);
    let fields = fields.into_iter().flatten().filter_map(|(name, verdict)| {
        let verdict = verdict.as_object()?;
        Some(Verdict {
            pointer: name.clone(),
            valid: verdict.get("valid") != Some(&Value::Bool(false)),
            problems: texts(verdict, "problems"),
            notes: notes(verdict),
            requires: texts(verdict, "requiresValidParameters"),
            allowed: verdict.get("allowedValues").and_then(Value::as_array).cloned(),
            suggested: verdict.get("suggestedValues").and_then(Value::as_array).cloned().unwrap_or_default(),
            normalized: verdict.get("normalizedValue").cloned(),
            shape: verdict.get("dynamicParameterSchema").filter(|shape| shape.is_object()).map(Shape::of),
        })
    });
    Some(Refusal { problems: texts(map, "problems"), notes: notes(map), fields: fields.collect() })
}

/// Takes a refusal into the form, so that only what was refused is asked again. Returns what to tell the person,
/// and whether there is hope: there is none where nothing is possible, and nothing that was said is why.
pub(super) fn learn(form: &mut Form, root: &Shape, mut refusal: Refusal) -> (String, bool) {
    form.wanted.clear();
    form.open = None;
    form.doubt = None;
    for verdict in &mut refusal.fields {
        verdict.pointer = place(root, &verdict.pointer);
        verdict.requires.iter_mut().for_each(|name| *name = place(root, name));
    }
    let fields = &refusal.fields;
    let mut told = refusal.problems;
    for verdict in fields.iter().filter(|verdict| verdict.valid) {
        told.extend(understood(form, verdict));
        told.extend(verdict.notes.iter().cloned());
    }
    for verdict in fields {
        let absent = !verdict.valid && form.values.pointer(&verdict.pointer).is_none();
        let needed = fields.iter().any(|other| other.requires.contains(&verdict.pointer));
        let offer = form.offers.entry(verdict.pointer.clone()).or_default();
        // What is accepted already is not told again.
        let mut needs = std::mem::take(&mut offer.needs);
        needs.extend(verdict.requires.iter().filter(|need| !needs.contains(need)).cloned().collect::<Vec<_>>());
        // What was offered for a value that is accepted is still what it can be changed to.
        let before = if verdict.valid { std::mem::take(offer) } else { Offer { must: offer.must, ..Offer::default() } };
        let silent = verdict.allowed.is_none() && verdict.suggested.is_empty() && verdict.shape.is_none();
        let said = Offer {
            allowed: verdict.allowed.clone(),
            suggested: verdict.suggested.clone(),
            shape: verdict.shape.clone(),
            ..Offer::default()
        };
        let must = before.must;
        *offer = Offer {
            accepted: verdict.valid,
            must: must || absent || needed,
            needs,
            ..if silent { before } else { said }
        };
    }
    let mut hope = true;
    for verdict in fields.iter().filter(|verdict| !verdict.valid && verdict.requires.is_empty()) {
        if verdict.is_dead_end() {
            let (why, causes) = dead_end(form, fields, verdict);
            told.push(why);
            hope &= !causes.is_empty();
            if !causes.is_empty() {
                form.doubt.get_or_insert(Doubt::Change { pointers: causes });
            }
        } else {
            told.extend(objection(form, root, verdict));
        }
        told.extend(verdict.notes.iter().cloned());
    }
    if hope && form.wanted.is_empty() && form.doubt.is_none() && form.next(root).is_none() {
        // Everything that is refused waits for something else: that is what has to be asked.
        let held = fields.iter().filter(|verdict| !verdict.valid);
        let held = held.flat_map(|verdict| verdict.requires.iter().map(|need| (&verdict.pointer, need)));
        let lacks = |need: &String| form.values.pointer(need).is_none() && root.at(need).is_some();
        let mut lacking: Vec<String> =
            held.map(|(waits, need)| if lacks(need) { need.clone() } else { waits.clone() }).collect();
        lacking.dedup();
        for pointer in &lacking {
            form.unset(pointer);
        }
        form.wanted = lacking;
    }
    told.extend(refusal.notes);
    let told = told.iter().map(|text| words::shorten(text.trim(), 600)).filter(|text| !text.is_empty());
    (told.collect::<Vec<_>>().join("\n"), hope)
}

/// Where the parameter stands that feedback calls `name`: `leg.from` is inside `leg`, where no parameter is called so.
fn place(root: &Shape, name: &str) -> String {
    let whole = ask::field("", name);
    let inside = name.split('.').fold(String::new(), |pointer, step| ask::field(&pointer, step));
    if root.at(&whole).is_none() && root.at(&inside).is_some() { inside } else { whole }
}

/// Takes a value over as the tool understood it, and says so.
fn understood(form: &mut Form, verdict: &Verdict) -> Option<String> {
    let value = verdict.normalized.as_ref()?;
    let given = form.values.pointer(&verdict.pointer).cloned();
    form.settle(&verdict.pointer, value.clone());
    let shown = |value: &Value| words::shorten(&scalar::plain(value), 60);
    Some(match given.filter(|given| given != value) {
        Some(given) => format!("“{}” is understood as {}.", shown(&given), shown(value)),
        None => format!("{}: {}.", words::capital(&ask::label(&verdict.pointer)), shown(value)),
    })
}

/// Has a refused parameter asked again, and says why where that is worth saying.
fn objection(form: &mut Form, root: &Shape, verdict: &Verdict) -> Option<String> {
    let pointer = &verdict.pointer;
    let nested: Vec<String> = verdict.problems.iter().filter_map(|problem| inner(root, pointer, problem)).collect();
    if !nested.is_empty() {
        for inside in &nested {
            form.unset(inside);
        }
        form.wanted.extend(nested);
        return Some(verdict.problems.join("\n"));
    }
    let given = form.values.pointer(pointer).cloned();
    form.unset(pointer);
    form.wanted.push(pointer.clone());
    let label = ask::label(pointer);
    let reasons = verdict.reasons();
    if let Some(value) = given {
        let reasons = if reasons.is_empty() { ".".to_owned() } else { format!(": {reasons}.") };
        return Some(format!("“{}” does not work for {label}{reasons}", words::shorten(&scalar::plain(&value), 60)));
    }
    // Nothing was given yet: the question says by itself that it is needed, and what is possible.
    let folded = words::fold(&reasons);
    let plain = ["required", "missing", "expected", "needed", "must be given", "provide"];
    let silent = reasons.is_empty()
        || reasons.ends_with('?')
        || verdict.allowed.is_some()
        || !verdict.suggested.is_empty()
        || plain.iter().any(|word| folded.contains(word));
    (!silent).then(|| format!("{}: {reasons}.", words::capital(&label)))
}

/// Nothing is possible for a parameter: what to tell, and what was said before that can be changed.
fn dead_end(form: &mut Form, fields: &[Verdict], verdict: &Verdict) -> (String, Vec<String>) {
    let pointer = &verdict.pointer;
    let needs = form.offers.get(pointer).map(|offer| offer.needs.clone()).unwrap_or_default();
    let earlier = fields.iter().take_while(|other| other.pointer != *pointer).filter(|other| other.valid);
    // What was accepted at first is not named among what it needs.
    let mut causes: Vec<String> = earlier.map(|other| other.pointer.clone()).collect();
    causes.extend(needs.into_iter().filter(|need| !causes.contains(need)).collect::<Vec<_>>());
    // What waits for it may be why: three passengers, and no day on which three seats are free.
    causes.extend(fields.iter().filter(|other| other.requires.contains(pointer)).map(|other| other.pointer.clone()));
    causes.retain(|at| form.values.pointer(at).is_some());
    for cause in &causes {
        form.offers.entry(cause.clone()).or_default().must = true;
    }
    let reasons = verdict.reasons();
    let label = ask::label(pointer);
    if causes.is_empty() {
        form.unset(pointer);
        let why = if reasons.is_empty() { " at the moment".to_owned() } else { format!(": {reasons}") };
        return (format!("There is no {label} to choose from{why}."), causes);
    }
    let known = causes.iter().map(|cause| {
        let value = form.values.pointer(cause).map(scalar::plain).unwrap_or_default();
        format!("{}: {}", ask::label(cause), words::shorten(&value, 60))
    });
    let known = known.collect::<Vec<_>>().join(", ");
    let why = if reasons.is_empty() { reasons } else { format!(": {reasons}") };
    (format!("Nothing is possible for {label} with {known}{why}."), causes)
}

/// The place inside a parameter that a problem is about: it begins with its path in backticks.
fn inner(root: &Shape, pointer: &str, problem: &str) -> Option<String> {
    let path = problem.strip_prefix('`')?.split_once('`')?.0;
    let inside = format!("/{}", path.replace('.', "/"));
    let below = inside.strip_prefix(pointer)?.starts_with('/');
    let field = inside.rsplit('/').next()?.parse::<usize>().is_err();
    (below && field && root.at(&inside).is_some()).then_some(inside)
}

/// What to tell about a call that failed, in the words of the tool.
pub(super) fn reason(text: &str) -> String {
    let text = text.trim();
    let read: Option<Value> = serde_json::from_str(text).ok();
    let field = |name: &str| read.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let told = ["error", "message", "reason"].iter().find_map(|name| field(name));
    let told = told.or_else(|| read.as_ref()?.as_str().map(str::to_owned)).unwrap_or_else(|| text.to_owned());
    words::shorten(told.trim(), 600)
}

/// What to tell where a failure says that a person did not allow the call; `None` where it says something else.
pub(super) fn denial(text: &str) -> Option<String> {
    let folded = words::fold(text);
    let who = ["by the user", "by a human", "by the person", "by the operator"];
    let refused = ["denied", "declined", "rejected", "refused"];
    let by = refused.iter().any(|verb| who.iter().any(|who| folded.contains(&format!("{verb} {who}"))));
    if !by && !folded.starts_with("the call was denied") {
        return None;
    }
    let why = text.split_once(": ").map(|(_, why)| words::shorten(why.trim().trim_end_matches('.'), 300));
    Some(
        why.map_or_else(
            || "All right, I have left that undone.".into(),
            |why| format!("I have left that undone: {why}."),
        ),
    )
}

fn texts(map: &Map<String, Value>, key: &str) -> Vec<String> {
    match map.get(key) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn notes(map: &Map<String, Value>) -> Vec<String> {
    let mut out = texts(map, "feedback");
    out.extend(texts(map, "instructions"));
    out
}
