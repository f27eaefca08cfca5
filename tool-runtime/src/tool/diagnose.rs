//! The diagnosis of wrong arguments, with every problem in one rejection.

use serde_json::{Map, Value};

use super::{Def, check::duplicate, decode::Slot, type_error};
use crate::feedback::{Problem, ProblemKind, Rejection};
use tool_schema::feedback;
use tool_schema::feedback::suggest;
use tool_schema::json::text::{self, ReadValue};
use tool_schema::schema::pointer::join;

/// The maximum number of unknown names that are reported one by one.
const MAX_UNKNOWN: usize = 8;

/// Explains why `text` could not be read into `slots`.
pub fn diagnose(def: &'static Def, text: &str, slots: &mut [Slot<'_>]) -> Rejection {
    let (entries, twice) = match entries(def, text) {
        Ok(entries) => entries,
        Err(problem) => return Rejection::one(*problem),
    };
    let known: Vec<&str> = slots.iter().filter(|slot| !slot.param().secret).map(|slot| slot.param().name).collect();
    let mut given = Map::new();
    let mut strange = Vec::new();
    for (name, value) in entries {
        if known.contains(&name.as_str()) {
            given.insert(name, value);
        } else {
            strange.push(name);
        }
    }
    let is_known = |path: &String| known.iter().any(|name| is_within(path, &pointer(name)));
    let mut problems: Vec<Problem> = twice.into_iter().filter(is_known).map(duplicate).collect();
    if let Some(schema) = def.input_schema() {
        problems.extend(schema.problems(&Value::Object(given.clone()), ""));
    }
    for slot in slots {
        let name = slot.param().name;
        let path = pointer(name);
        let is_reported = problems.iter().any(|problem| is_within(&problem.path, &path));
        if slot.param().secret || is_reported {
            continue;
        }
        problems.extend(match given.get(name) {
            Some(_) => find_problem(slot, &path, last_value(text, name)),
            None if slot.read_absent() => None,
            None => Some(missing(name)),
        });
    }
    let place = |problem: &Problem| known.iter().position(|name| is_within(&problem.path, &pointer(name)));
    problems.sort_by_key(|problem| place(problem).unwrap_or(usize::MAX));
    problems.extend(unknown(&strange, &known, &given));
    Rejection::new(problems)
}

/// The entries of the arguments, and the places where a name is given more than once.
type Entries = (Map<String, Value>, Vec<String>);

fn entries(def: &'static Def, text: &str) -> Result<Entries, Box<Problem>> {
    if text::is_blank(text) {
        return Ok(Default::default());
    }
    let ReadValue { value, repeated } =
        text::read(text).map_err(|error| Box::new(feedback::explain_syntax_error(text, &error)))?;
    let problem = |value: &Value| {
        let names = quote_names(def.fields.iter().filter(|field| !field.param.secret).map(|field| field.param.name));
        let expected = if names.is_empty() { "an empty object".to_owned() } else { format!("an object with {names}") };
        not_an_object(expected, value)
    };
    match value {
        Value::Object(entries) => Ok((entries, repeated)),
        other => Err(Box::new(problem(&other))),
    }
}

/// Returns the JSON of the last value called `name` in the arguments.
fn last_value<'t>(text: &'t str, name: &str) -> &'t str {
    text::raw_entries(text).filter(|(other, _)| other == name).last().map_or("", |(_, value)| value)
}

/// The maximum length of an object in a suggestion, in bytes.
const MAX_SUGGESTION: usize = 60;

/// Returns the problem of arguments that are no object.
pub(crate) fn not_an_object(expected: impl Into<String>, arguments: &Value) -> Problem {
    // Some models write the object as the text of a string.
    let inside = arguments.as_str().filter(|text| serde_json::from_str::<Map<String, Value>>(text).is_ok());
    let suggestion = inside.map(|object| {
        let is_short = object.len() <= MAX_SUGGESTION && !object.chars().any(char::is_control);
        if is_short { object.to_owned() } else { "the object itself, not as a string".to_owned() }
    });
    Problem::new("", ProblemKind::WrongType, expected).got(feedback::summarize(arguments)).suggest(suggestion)
}

/// Returns the problem that a parameter's own type finds with a value that its schema allows.
fn find_problem(slot: &mut Slot<'_>, path: &str, json: &str) -> Option<Problem> {
    match slot.read(json) {
        // The reader of a whole number stops before a fraction.
        Ok(length) if length < json.len() => {
            Some(Problem::new(path, ProblemKind::WrongType, "a whole number").got(type_error::summarize_json(json)))
        }
        Ok(_) => slot.broken().map(|rule| {
            Problem::new(path, ProblemKind::Invalid, rule.to_string()).got(type_error::summarize_json(json))
        }),
        Err(error) => Some(type_error::explain(path, json, &error, &mut |text| slot.read(text).err())),
    }
}

fn unknown(strange: &[String], known: &[&str], given: &Map<String, Value>) -> Vec<Problem> {
    let free: Vec<&str> = known.iter().copied().filter(|name| !given.contains_key(*name)).collect();
    let expected = match known {
        [] => "no parameters".to_owned(),
        names => quote_names(names.iter().copied()),
    };
    let mut problems: Vec<Problem> = strange
        .iter()
        .take(MAX_UNKNOWN)
        .map(|name| {
            let near = suggest::nearest(name, free.iter().copied()).map(|near| format!("`{near}`"));
            Problem::new(pointer(&feedback::truncate_name(name)), ProblemKind::Unknown, expected.clone()).suggest(near)
        })
        .collect();
    if strange.len() > MAX_UNKNOWN {
        let more = format!("no other names; {} more are unknown", strange.len() - MAX_UNKNOWN);
        problems.push(Problem::new("", ProblemKind::Unknown, more));
    }
    problems
}

fn quote_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub fn missing(name: &str) -> Problem {
    Problem::new(pointer(name), ProblemKind::Missing, "a value")
}

fn pointer(name: &str) -> String {
    join("", name)
}

fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
