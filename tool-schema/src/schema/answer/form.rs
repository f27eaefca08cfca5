//! Where the output of a tool stands in its answer.

use serde_json::{Map, Value};

use crate::schema::{bound, pointer};

/// The keys of an answer, which an output that is merged into it cannot have.
pub const RESERVED: [&str; 6] = ["ok", "value", "feedback", "instructions", "problems", "validationResults"];

/// Where the output of a tool stands in its answer.
///
/// ```
/// use serde_json::json;
/// use tool_schema::schema::answer::Form;
///
/// // A struct with fields, and anything else.
/// let receipt = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
/// assert_eq!(Form::of(Some(&receipt)), Form::Merged);
/// assert_eq!(Form::of(Some(&json!({ "type": "string" }))), Form::Wrapped);
/// assert_eq!(Form::of(Some(&json!({ "anyOf": [receipt, { "type": "null" }] }))), Form::Wrapped);
/// assert_eq!(Form::of(Some(&json!({ "type": "null" }))), Form::Nothing);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Nowhere: there is none, `()`, or a struct without fields.
    Nothing,
    /// Its keys stand beside `ok`: an object with declared properties.
    Merged,
    /// Below `value`: everything else, maps and unions of objects too.
    Wrapped,
}

impl Form {
    /// The form of an output with this schema.
    pub fn of(output: Option<&Value>) -> Self {
        let Some(output) = output else { return Self::Nothing };
        let schema = target(output).1;
        match properties(schema) {
            Some(properties) if properties.is_empty() => Self::Nothing,
            Some(_) => Self::Merged,
            None if is_never(schema) || is_null(schema) => Self::Nothing,
            None => Self::Wrapped,
        }
    }
}

/// The keys of an output with this schema that an answer has too, in the order of [`RESERVED`]: such an output cannot be told
/// apart from what is said about it. Of an output that is not merged there are none.
///
/// ```
/// use serde_json::json;
/// use tool_schema::schema::answer::collisions;
///
/// let output = json!({ "type": "object", "properties": { "id": {}, "feedback": {}, "ok": {} } });
/// assert_eq!(collisions(&output), ["ok", "feedback"]);
/// ```
pub fn collisions(output: &Value) -> Vec<&'static str> {
    if Form::of(Some(output)) != Form::Merged {
        return Vec::new();
    }
    RESERVED.into_iter().filter(|key| declares(output, output, key, &mut Vec::new())).collect()
}

/// Whether an object that fits `schema` may have `key` by name, by the schema itself or one that holds in the same place.
fn declares(root: &Value, schema: &Value, key: &str, seen: &mut Vec<String>) -> bool {
    let own = schema.get("properties").and_then(|all| all.get(key)).is_some_and(|one| !is_never(one));
    let reference = schema.get("$ref").and_then(Value::as_str);
    let referred = reference.and_then(|reference| pointer::resolve(root, "", reference));
    let referred = referred.filter(|(at, _)| !seen.contains(at)).is_some_and(|(at, target)| {
        seen.push(at);
        declares(root, target, key, seen)
    });
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|word| schema.get(word)?.as_array()).flatten();
    let branches = ["then", "else"].into_iter().filter_map(|word| schema.get(word));
    own || referred || lists.chain(branches).any(|part| declares(root, part, key, seen))
}

/// What `root` is once references are followed that are all it says, and its place.
pub(super) fn target(root: &Value) -> (String, &Value) {
    let mut found = (String::new(), root);
    for _ in 0..bound::LEVELS {
        let reference = found.1.get("$ref").and_then(Value::as_str);
        let (Some(reference), None) = (reference, found.1.get("properties")) else { break };
        match pointer::resolve(root, &found.0, reference) {
            Some(next) => found = next,
            None => break,
        }
    }
    found
}

/// The properties of an object that declares which it has: a struct. A map declares none.
pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    let properties = schema.get("properties")?.as_object()?;
    let is_map =
        properties.is_empty() && schema.get("additionalProperties").is_some_and(|rest| *rest != Value::Bool(false));
    (is_object && !is_map).then_some(properties)
}

fn is_never(schema: &Value) -> bool {
    let everything = |schema: &Value| *schema == Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty);
    *schema == Value::Bool(false) || schema.get("not").is_some_and(everything)
}

/// Whether `null` is the only value.
pub(super) fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}
