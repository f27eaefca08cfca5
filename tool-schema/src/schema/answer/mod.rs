//! JSON Schemas of what a tool answers: [`of`] the whole answer, and its parts.
//!
//! An answer is what [`feedback::Answer`](crate::feedback::Answer) reads and writes. The schema is small because nothing is
//! said twice: about 1.3 KB, and for each parameter some 250 bytes beside what the input's schema says of it. Everything is
//! closed: what is not named is refused.
//!
//! ```
//! use serde_json::json;
//! use tool_schema::schema::{Validator, answer};
//!
//! let input = json!({ "type": "object", "properties": { "seats": { "type": "integer" } }, "required": ["seats"] });
//! let output = json!({ "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] });
//! let answers = Validator::compile(&answer::of(&input, Some(&output), &[])).expect("a small schema");
//!
//! assert!(answers.is_valid(&json!({ "ok": true, "id": "AB12" })));
//! let full = json!({ "seats": { "valid": false, "problems": ["only 2 are left"], "allowedValues": [1, 2] } });
//! assert!(answers.is_valid(&json!({ "ok": false, "validationResults": full })));
//! // A refusal has a reason.
//! assert!(!answers.is_valid(&json!({ "ok": false })));
//! ```
//!
//! The schemas of input and output are JSON Schema 2020-12. References inside them still lead to where they led; a part that
//! has an `$id` is a resource of its own and is put in as it is.

mod document;
mod output;

use serde_json::{Map, Value, json};

use super::pointer;
use document::{Document, is_short, move_schema, object};
use output::{declared, target};

pub use output::{Form, RESERVED, collisions};

/// Returns the schema of everything that a tool with these schemas may answer.
///
/// `more` has what else is reported on beside the input's own properties: dynamic parameters inside nested objects (by
/// their dotted paths, such as `leg.from`) or in the branches of a union, each with its schema, whose references are
/// those of `input`.
pub fn of(input: &Value, output: Option<&Value>, more: &[(&str, &Value)]) -> Value {
    let mut document = Document::default();
    let success = output::success(&mut document, output);
    let failure = refusal(&mut document, input, more);
    document.finish(json!({ "type": "object", "anyOf": [success, failure] }))
}

/// Returns the schema of an answer that is a success: `ok`, the output, `feedback`, `instructions`.
///
/// Its [`Form`] decides where the output goes. What the output declares itself wins over the keys of the answer; such
/// outputs are found by [`collisions`].
pub fn success(output: Option<&Value>) -> Value {
    let mut document = Document::default();
    let success = output::success(&mut document, output);
    document.finish(success)
}

/// Returns the schema of an answer that refuses the call. `more` as in [`of`].
pub fn failure(input: &Value, more: &[(&str, &Value)]) -> Value {
    let mut document = Document::default();
    let failure = refusal(&mut document, input, more);
    document.finish(failure)
}

fn refusal(document: &mut Document, input: &Value, more: &[(&str, &Value)]) -> Value {
    match Fields::of(input, more) {
        Some(fields) => {
            let properties = json!({
                "ok": { "const": false },
                "problems": document.texts(),
                "validationResults": fields.reports(document),
                "feedback": document.texts(),
                "instructions": document.texts(),
            });
            let mut schema = object(properties, &["ok"]);
            schema["anyOf"] = json!([{ "required": ["problems"] }, { "required": ["validationResults"] }]);
            schema
        }
        None => {
            let value = document.value("input", input);
            let mut schema = document.value_refusal(&value, &["ok", "problems"]);
            schema["properties"]["ok"] = json!({ "const": false });
            schema
        }
    }
}

/// Returns the schema of `validationResults`: at least one parameter of the input, each with its [`report`]. `more` as in
/// [`of`].
///
/// For an input without parameters, the object may be empty.
pub fn reports(input: &Value, more: &[(&str, &Value)]) -> Value {
    let mut document = Document::default();
    let fields = Fields::of(input, more).unwrap_or_default();
    let reports = fields.reports(&mut document);
    document.finish(reports)
}

/// Returns the schema of a report on one parameter, whose values `value` describes; `names` are those of all parameters.
pub fn report(value: &Value, names: &[&str]) -> Value {
    let mut document = Document::default();
    let value = document.value("value", value);
    let report = document.report(names);
    document.finish(of_value(report, &value))
}

/// Returns the schema of the reasons to refuse a parameter, as an object of its own: `problems`,
/// `requiresValidParameters` or both.
pub fn reasons(names: &[&str]) -> Value {
    let mut document = Document::default();
    let properties = json!({ "problems": document.texts(), "requiresValidParameters": document.names(names) });
    let mut schema = object(properties, &[]);
    schema["anyOf"] = document::has_reason();
    document.finish(schema)
}

/// Returns the schema of the reasons to refuse an input that is one value and no object of parameters, without its `ok`.
pub fn value_reasons(value: &Value) -> Value {
    let mut document = Document::default();
    let value = document.value("value", value);
    let schema = document.value_refusal(&value, &["problems"]);
    document.finish(schema)
}

/// Returns the schema of `allowedValues` or `suggestedValues`, of which there is at most one, as an object of its own.
pub fn choices(value: &Value) -> Value {
    let mut document = Document::default();
    let value = document.value("value", value);
    let properties = json!({ "allowedValues": document::any(&value), "suggestedValues": list_of(&value) });
    let mut schema = object(properties, &[]);
    schema["not"] = document::both_choices();
    document.finish(schema)
}

/// Returns the schema of `feedback` and `instructions`, as an object of its own.
pub fn remarks() -> Value {
    let mut document = Document::default();
    let schema = object(json!({ "feedback": document.texts(), "instructions": document.texts() }), &[]);
    document.finish(schema)
}

/// Returns the schema of a list of at least one item.
pub fn list_of(item: &Value) -> Value {
    json!({ "type": "array", "items": item, "minItems": 1 })
}

/// The parameters that can be reported on.
#[derive(Default)]
struct Fields<'a> {
    input: Option<&'a Value>,
    /// The place of the input's properties in it.
    at: String,
    own: Vec<(&'a str, &'a Value)>,
    more: &'a [(&'a str, &'a Value)],
}

impl<'a> Fields<'a> {
    /// `None` for an input that has no parameters because it is no object with declared properties.
    fn of(input: &'a Value, more: &'a [(&'a str, &'a Value)]) -> Option<Self> {
        let (at, schema) = target(input);
        match declared(schema) {
            Some(own) => {
                let own = own.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
                Some(Self { input: Some(input), at: pointer::push(&at, "properties"), own, more })
            }
            None if more.is_empty() => None,
            None => Some(Self { input: Some(input), more, ..Self::default() }),
        }
    }

    /// Returns the schema of `validationResults`.
    fn reports(&self, document: &mut Document) -> Value {
        let mut properties = Map::new();
        let own = self.own.iter().map(|&(name, schema)| (name, schema, true));
        let more = self.more.iter().map(|&(name, schema)| (name, schema, false));
        for (name, schema, is_own) in own.chain(more) {
            // The input's own schema wins.
            if properties.contains_key(name) {
                continue;
            }
            let value = self.value(document, name, schema, is_own);
            let report = document.report(&self.names());
            properties.insert(name.to_owned(), of_value(report, &value));
        }
        let is_empty = properties.is_empty();
        let mut schema = object(properties, &[]);
        if !is_empty {
            schema["minProperties"] = 1.into();
        }
        schema
    }

    fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.own.iter().map(|(name, _)| *name).collect();
        for (name, _) in self.more {
            if !names.contains(name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the schema of a parameter's values, as it is written where it is needed.
    fn value(&self, document: &mut Document, name: &str, schema: &Value, is_own: bool) -> Value {
        const PLACE: &str = "#/$defs/input";
        let move_part = |schema| move_schema(schema, self.input.unwrap_or(&Value::Null), PLACE, true);
        let written = move_part(schema);
        if is_short(&written) {
            return written;
        }
        if let Some(input) = self.input {
            document.define("input", |_| move_part(input));
        }
        if is_own {
            let place = pointer::encode(&pointer::push(&self.at, name));
            return json!({ "$ref": format!("{PLACE}{place}") });
        }
        document.define(&format!("input.{name}"), |_| written)
    }
}

/// `report` of a parameter whose values `value` describes.
fn of_value(mut report: Value, value: &Value) -> Value {
    if *value != Value::Bool(true) && value.as_object().is_none_or(|map| !map.is_empty()) {
        let items = json!({ "items": value });
        report["properties"] = json!({ "normalizedValue": value, "allowedValues": items, "suggestedValues": items });
    }
    report
}

#[cfg(test)]
mod tests;
