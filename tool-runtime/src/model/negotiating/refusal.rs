//! What a tool said when it refused a call, and what that means for the form.

use serde_json::{Map, Value};

use super::ask;
use super::form::{Doubt, Form, Offer};
use super::shape::Shape;
use super::{question, scalar, words};

/// What a tool said when it refused a call.
pub(super) struct Refusal {
    problems: Vec<String>,
    notes: Vec<String>,
    fields: Vec<(String, Verdict)>,
}

/// What it said about one parameter.
struct Verdict {
    valid: bool,
    problems: Vec<String>,
    notes: Vec<String>,
    requires: Vec<String>,
    allowed: Option<Vec<Value>>,
    suggested: Vec<Value>,
    normalized: Option<Value>,
    shape: Option<Shape>,
}

/// Reads feedback; `None` where the text is something else.
pub(super) fn read(text: &str) -> Option<Refusal> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let map = value.as_object().filter(|map| map.get("ok") == Some(&Value::Bool(false)))?;
    let fields = map.get("validationResults").and_then(Value::as_object);
    let fields = fields.into_iter().flatten().filter_map(|(name, verdict)| {
        let verdict = verdict.as_object()?;
        let read = Verdict {
            valid: verdict.get("valid") != Some(&Value::Bool(false)),
            problems: texts(verdict, "problems"),
            notes: notes(verdict),
            requires: texts(verdict, "requiresValidParameters"),
            allowed: verdict.get("allowedValues").and_then(Value::as_array).cloned(),
            suggested: verdict.get("suggestedValues").and_then(Value::as_array).cloned().unwrap_or_default(),
            normalized: verdict.get("normalizedValue").cloned(),
            shape: verdict.get("dynamicParameterSchema").filter(|shape| shape.is_object()).map(Shape::of),
        };
        Some((name.clone(), read))
    });
    Some(Refusal { problems: texts(map, "problems"), notes: notes(map), fields: fields.collect() })
}

/// Takes a refusal into the form, so that only what was refused is asked again. Returns what to tell the person.
pub(super) fn learn(form: &mut Form, root: &Shape, refusal: Refusal) -> String {
    form.wanted.clear();
    form.open = None;
    form.doubt = None;
    let mut told = refusal.problems;
    for (name, verdict) in refusal.fields.iter().filter(|(_, verdict)| verdict.valid) {
        if let Some(value) = &verdict.normalized {
            form.set(&ask::field("", name), value.clone());
        }
    }
    for (name, verdict) in &refusal.fields {
        let pointer = ask::field("", name);
        let absent = !verdict.valid && form.values.pointer(&pointer).is_none();
        let needed = refusal.fields.iter().any(|(_, other)| other.requires.contains(name));
        let offer = form.offers.entry(pointer).or_default();
        let must = offer.must || absent || needed;
        let needs =
            if verdict.requires.is_empty() { std::mem::take(&mut offer.needs) } else { verdict.requires.clone() };
        *offer = Offer {
            allowed: verdict.allowed.clone(),
            suggested: verdict.suggested.clone(),
            shape: verdict.shape.clone(),
            must,
            needs,
        };
    }
    let refused: Vec<_> = refusal.fields.iter().filter(|(_, verdict)| !verdict.valid).collect();
    for (name, verdict) in refused.iter().filter(|(_, verdict)| verdict.requires.is_empty()) {
        let pointer = ask::field("", name);
        if verdict.allowed.as_ref().is_some_and(Vec::is_empty) {
            told.push(dead_end(form, &refusal.fields, &pointer));
            told.extend(verdict.notes.iter().cloned());
            continue;
        }
        told.extend(objection(form, root, &pointer, verdict));
        told.extend(verdict.notes.iter().cloned());
    }
    if form.wanted.is_empty() && form.doubt.is_none() && form.next(root).is_none() {
        // Everything that is refused waits for something else: that is what has to be asked.
        let held = refused.iter().flat_map(|(name, verdict)| verdict.requires.iter().map(move |need| (name, need)));
        let mut lacking: Vec<String> = Vec::new();
        for (name, need) in held {
            let known =
                form.values.pointer(&ask::field("", need)).is_some() || root.at(&ask::field("", need)).is_none();
            lacking.push(ask::field("", if known { name } else { need }));
        }
        lacking.dedup();
        for pointer in &lacking {
            form.unset(pointer);
        }
        form.wanted = lacking;
    }
    told.extend(refusal.notes);
    told.iter()
        .map(|text| words::shorten(text.trim(), 600))
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Has a refused parameter asked again, and says why where that is worth saying.
fn objection(form: &mut Form, root: &Shape, pointer: &str, verdict: &Verdict) -> Option<String> {
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
    form.wanted.push(pointer.to_owned());
    let label = ask::label(pointer);
    let reasons =
        verdict.problems.iter().map(|problem| problem.trim().trim_end_matches('.')).collect::<Vec<_>>().join("; ");
    if let Some(value) = given {
        let reasons = if reasons.is_empty() { ".".to_owned() } else { format!(": {reasons}.") };
        return Some(format!("“{}” does not work for {label}{reasons}", words::shorten(&scalar::plain(&value), 60)));
    }
    // Nothing was given yet: the question says by itself that it is needed, and what is possible.
    let folded = words::fold(&reasons);
    let plain = ["required", "missing", "expected", "needed", "must be given", "provide"];
    let silent = reasons.is_empty()
        || verdict.allowed.is_some()
        || !verdict.suggested.is_empty()
        || plain.iter().any(|word| folded.contains(word));
    (!silent).then(|| format!("{}: {reasons}.", words::capital(&label)))
}

/// Nothing is possible for a parameter: something that it depends on has to change.
fn dead_end(form: &mut Form, fields: &[(String, Verdict)], pointer: &str) -> String {
    let needs = form.offers.get(pointer).map(|offer| offer.needs.clone()).unwrap_or_default();
    let before = fields.iter().take_while(|(name, _)| ask::field("", name) != pointer);
    let earlier = before.filter(|(_, verdict)| verdict.valid).map(|(name, _)| name.clone());
    let causes: Vec<String> = if needs.is_empty() { earlier.collect() } else { needs };
    let causes: Vec<String> =
        causes.iter().map(|name| ask::field("", name)).filter(|at| form.values.pointer(at).is_some()).collect();
    for cause in &causes {
        form.offers.entry(cause.clone()).or_default().must = true;
    }
    let label = ask::label(pointer);
    if causes.is_empty() {
        return format!("There is nothing to choose from for {label} at the moment.");
    }
    let mut known = Map::new();
    for cause in &causes {
        known.insert(ask::parameter(cause), form.values.pointer(cause).cloned().unwrap_or_default());
    }
    form.doubt.get_or_insert(Doubt::Change { pointers: causes });
    format!("Nothing is possible for {label} with {}.", question::settled(&Value::Object(known)))
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
