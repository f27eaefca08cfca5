//! Everything that is wrong with arguments, in one answer: the slow path, taken only when the fast one failed.

use schemars::SchemaGenerator;
use serde_json::{Map, Value};

use super::{AnySlot, Def, describe};
use crate::feedback::{self, Problem, ProblemKind, Rejection, suggest};
use crate::json::Object;
use crate::schema::Validator;

/// How many unknown names are told one by one.
const MOST_UNKNOWN: usize = 8;

/// Explains why `text` could not be read into `slots`.
pub(super) fn diagnose(def: &'static Def, text: &str, slots: &mut [&mut dyn AnySlot]) -> Rejection {
    let entries = match entries(def, text) {
        Ok(entries) => entries,
        Err(problem) => return Rejection::one(*problem),
    };
    let known: Vec<&str> = slots.iter().filter(|slot| !slot.param().secret).map(|slot| slot.param().name).collect();
    let mut given = Map::new();
    let mut strange = Vec::new();
    let mut problems = Vec::new();
    for (name, raw) in entries {
        if given.contains_key(&name) {
            problems.push(Problem::new(pointer(&name), ProblemKind::Duplicate, "one value for each parameter"));
        } else if known.contains(&name.as_str()) {
            match serde_json::from_str::<Value>(raw) {
                Ok(value) => {
                    given.insert(name, value);
                }
                Err(error) => problems.push(Problem { path: pointer(&name), ..feedback::malformed(raw, &error) }),
            }
        } else {
            strange.push(name);
        }
    }
    if let Some(validator) = def.validator() {
        problems.extend(validator.problems(&Value::Object(given.clone()), ""));
    }
    for slot in slots {
        let name = slot.param().name;
        let path = pointer(name);
        let told = problems.iter().any(|problem| is_within(&problem.path, &path));
        if slot.param().secret || told {
            continue;
        }
        problems.extend(match given.get(name) {
            Some(value) => judge(*slot, &path, value),
            None if slot.read_absent() => None,
            None => Some(Problem::new(path, ProblemKind::Missing, "a value")),
        });
    }
    let place = |problem: &Problem| known.iter().position(|name| is_within(&problem.path, &pointer(name)));
    problems.sort_by_key(|problem| place(problem).unwrap_or(usize::MAX));
    problems.extend(unknown(&strange, &known, &given));
    Rejection::new(problems)
}

/// Checks arguments that could be read against what their types promise beyond that.
pub(super) fn check(guard: &Validator, text: &str) -> Result<(), Rejection> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value: Value = serde_json::from_str(text).map_err(|error| Rejection::one(feedback::malformed(text, &error)))?;
    let problems = guard.problems(&value, "");
    if problems.is_empty() { Ok(()) } else { Err(Rejection::new(problems)) }
}

/// Explains why `text` is no answer of the type that `schema` describes.
pub(super) fn answer(text: &str, schema: fn(&mut SchemaGenerator) -> schemars::Schema) -> Rejection {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return Rejection::one(feedback::malformed(text, &error)),
    };
    let problems = describe::output(|generator| Some(schema(generator)))
        .and_then(|schema| Validator::compile(schema.neutral()).ok())
        .map(|validator| validator.problems(&value, ""));
    Rejection::new(problems.unwrap_or_default())
}

/// The entries of the arguments, each value as text.
fn entries<'a>(def: &'static Def, text: &'a str) -> Result<Vec<(String, &'a str)>, Box<Problem>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    // The whole text first: a mistake in the JSON itself hides all others.
    let whole: Value = serde_json::from_str(text).map_err(|error| Box::new(feedback::malformed(text, &error)))?;
    let not_an_object = || {
        let names: Vec<String> = def
            .fields
            .iter()
            .filter(|field| !field.param().secret)
            .map(|field| format!("`{}`", field.param().name))
            .collect();
        let expected = if names.is_empty() {
            "an empty object".to_owned()
        } else {
            format!("an object with {}", names.join(", "))
        };
        Box::new(Problem::new("", ProblemKind::WrongType, expected).got(feedback::shorten(&whole)))
    };
    let mut entries = Vec::new();
    let mut object = Object::enter(text).map_err(|_| not_an_object())?;
    while let Some(key) = object.entry().map_err(|_| not_an_object())? {
        let raw = object.skip().map_err(|error| Box::new(feedback::malformed(text, &error)))?;
        entries.push((key.into_owned(), raw));
    }
    Ok(entries)
}

/// What the type of a parameter itself says against a value that its schema allows.
fn judge(slot: &mut dyn AnySlot, path: &str, value: &Value) -> Option<Problem> {
    match slot.read(&value.to_string()) {
        Ok(_) => slot
            .broken()
            .map(|rule| Problem::new(path, ProblemKind::Invalid, rule.to_string()).got(feedback::shorten(value))),
        Err(error) => {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            let expected = message.rsplit_once("expected ").map_or(message, |(_, expected)| expected);
            Some(Problem::new(path, ProblemKind::Invalid, expected).got(feedback::shorten(value)))
        }
    }
}

fn unknown(strange: &[String], known: &[&str], given: &Map<String, Value>) -> Vec<Problem> {
    let free: Vec<&str> = known.iter().copied().filter(|name| !given.contains_key(*name)).collect();
    let expected = match known {
        [] => "no parameters".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    };
    let mut problems: Vec<Problem> = strange
        .iter()
        .take(MOST_UNKNOWN)
        .map(|name| {
            let near = suggest::nearest(name, free.iter().copied()).map(|near| format!("`{near}`"));
            Problem::new(pointer(name), ProblemKind::Unknown, expected.clone()).suggest(near)
        })
        .collect();
    if strange.len() > MOST_UNKNOWN {
        let more = format!("no other names; {} more are unknown", strange.len() - MOST_UNKNOWN);
        problems.push(Problem::new("", ProblemKind::Unknown, more));
    }
    problems
}

/// The JSON Pointer of a parameter.
fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
