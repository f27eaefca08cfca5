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
mod fields;
mod form;
mod moved;
mod output;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use document::{Document, object};
use fields::Fields;

pub use form::{Form, RESERVED, collisions};

/// The schema of everything that a tool with these schemas may answer.
///
/// `more` has what else is reported on beside the input's own properties: dynamic parameters inside nested objects (by their
/// dotted paths, such as `leg.from`) or in the branches of a union, each with its schema, whose references are those of `input`.
pub fn of(input: &Value, output: Option<&Value>, more: &[(&str, &Value)]) -> Value {
    let mut document = Document::default();
    let success = output::success(&mut document, output);
    let failure = refused(&mut document, input, more);
    document.finish(json!({ "type": "object", "anyOf": [success, failure] }))
}

/// The schema of an answer that is a success: `ok`, the output, `feedback`, `instructions`.
///
/// Where the output goes, says its [`Form`]. What the output declares itself wins over the keys of the answer; such outputs
/// are found by [`collisions`].
pub fn success(output: Option<&Value>) -> Value {
    let mut document = Document::default();
    let success = output::success(&mut document, output);
    document.finish(success)
}

/// The schema of an answer that refuses the call. `more` as in [`of`].
pub fn failure(input: &Value, more: &[(&str, &Value)]) -> Value {
    let mut document = Document::default();
    let failure = refused(&mut document, input, more);
    document.finish(failure)
}

fn refused(document: &mut Document, input: &Value, more: &[(&str, &Value)]) -> Value {
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
            let mut schema = document.judged(&value, &["ok", "problems"]);
            schema["properties"]["ok"] = json!({ "const": false });
            schema
        }
    }
}

/// The schema of `validationResults`: at least one parameter of the input, each with its [`report`]. `more` as in [`of`].
///
/// Of an input without parameters there is nothing to tell: then the object may be empty.
pub fn reports(input: &Value, more: &[(&str, &Value)]) -> Value {
    let mut document = Document::default();
    let fields = Fields::of(input, more).unwrap_or_default();
    let reports = fields.reports(&mut document);
    document.finish(reports)
}

/// The schema of what is said of one parameter, whose values `value` describes; `names` are those of all parameters.
pub fn report(value: &Value, names: &[&str]) -> Value {
    let mut document = Document::default();
    let value = document.value("value", value);
    let report = document.report(names);
    document.finish(fields::of_value(report, &value))
}

/// The schema of why a parameter is refused, as an object of its own: `problems`, `requiresValidParameters` or both.
pub fn reasons(names: &[&str]) -> Value {
    let mut document = Document::default();
    let properties = json!({ "problems": document.texts(), "requiresValidParameters": document.names(names) });
    let mut schema = object(properties, &[]);
    schema["anyOf"] = document::has_reason();
    document.finish(schema)
}

/// The schema of why an input is refused that is one value and no object of parameters, without its `ok`.
pub fn value_reasons(value: &Value) -> Value {
    let mut document = Document::default();
    let value = document.value("value", value);
    let schema = document.judged(&value, &["problems"]);
    document.finish(schema)
}

/// The schema of `allowedValues` or `suggestedValues`, of which there is at most one, as an object of its own.
pub fn choices(value: &Value) -> Value {
    let mut document = Document::default();
    let value = document.value("value", value);
    let properties = json!({ "allowedValues": document::any(&value), "suggestedValues": list_of(&value) });
    let mut schema = object(properties, &[]);
    schema["not"] = document::both_choices();
    document.finish(schema)
}

/// The schema of `feedback` and `instructions`, as an object of its own.
pub fn remarks() -> Value {
    let mut document = Document::default();
    let schema = object(json!({ "feedback": document.texts(), "instructions": document.texts() }), &[]);
    document.finish(schema)
}

/// The schema of a list of at least one item.
pub fn list_of(item: &Value) -> Value {
    json!({ "type": "array", "items": item, "minItems": 1 })
}
