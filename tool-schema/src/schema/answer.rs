//! The place of a tool's output in its answer. [`feedback::Answer`](crate::feedback::Answer) reads and writes answers.

use serde_json::{Map, Value};

use super::{places, pointer};

/// The keys of an answer. A merged output must not have them.
pub const RESERVED_KEYS: [&str; 6] = ["ok", "value", "feedback", "instructions", "problems", "validationResults"];

/// The place of a tool's output in its answer.
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
    /// The answer contains no output: there is none, or the output is `()` or a struct without fields.
    Nothing,
    /// The output's keys are beside `ok`: the output is an object with declared properties.
    Merged,
    /// The output is under the key `value`: all other outputs, also maps and unions of objects.
    Wrapped,
}

impl Form {
    /// Returns the form of an output with this schema.
    pub fn of(output: Option<&Value>) -> Self {
        let Some(output) = output else { return Self::Nothing };
        let schema = follow_references(output);
        match declared_properties(schema) {
            Some(properties) if properties.is_empty() => Self::Nothing,
            Some(_) => Self::Merged,
            None if is_never(schema) || is_null(schema) => Self::Nothing,
            None => Self::Wrapped,
        }
    }
}

/// Returns the keys of an output that its answer also has, in the order of [`RESERVED_KEYS`]. An output that is not merged has no such
/// keys.
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
    RESERVED_KEYS.into_iter().filter(|key| declares(output, output, key, &mut Vec::new())).collect()
}

/// Returns whether `schema`, or a schema that applies to the same object, declares the property `key`.
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

/// Follows a `$ref` as long as no `properties` are beside it. Returns the last schema.
fn follow_references(root: &Value) -> &Value {
    let mut found = (String::new(), root);
    for _ in 0..places::MAX_NESTING {
        let reference = found.1.get("$ref").and_then(Value::as_str);
        let (Some(reference), None) = (reference, found.1.get("properties")) else { break };
        match pointer::resolve(root, &found.0, reference) {
            Some(next) => found = next,
            None => break,
        }
    }
    found.1
}

/// Returns the properties that an object's schema declares, or `None` for a map and for another schema.
fn declared_properties(schema: &Value) -> Option<&Map<String, Value>> {
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

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn collisions_are_found_wherever_a_struct_gets_its_fields_from() {
        let flattened = json!({ "type": "object", "properties": { "id": {} }, "allOf": [{ "$ref": "#/$defs/Part" }],
            "oneOf": [{ "properties": { "value": {} } }, { "properties": { "x": { "properties": { "problems": {} } } } }],
            "$defs": { "Part": { "properties": { "ok": {} }, "$ref": "#/$defs/Part" } } });
        assert_eq!(collisions(&flattened), ["ok", "value"]);
        let wrapped = json!({ "anyOf": [{ "properties": { "ok": {} } }, { "type": "null" }] });
        assert!(collisions(&wrapped).is_empty());
        let all = RESERVED_KEYS.map(|key| (key.to_owned(), json!({})));
        let all = json!({ "properties": serde_json::Map::from_iter(all) });
        assert_eq!(collisions(&all), RESERVED_KEYS);
    }

    #[test]
    fn circles_end() {
        assert_eq!(Form::of(Some(&json!({ "$ref": "#" }))), Form::Wrapped);
        let twice =
            json!({ "type": "object", "properties": { "id": {} }, "allOf": [{ "$ref": "#" }, { "$ref": "#" }] });
        assert!(collisions(&twice).is_empty());
    }
}
