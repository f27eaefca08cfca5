//! JSON Schemas of a tool's answers ([`answer_schema`]) and of their parts: a second opinion on what [`Answer`] reads and writes.
//!
//! The schema has no repetitions. An answer accepts only named members, unless the output's schema is open. `validationResults` also
//! accepts the paths of values inside a parameter.
//!
//! The schemas of input and output are JSON Schema 2020-12. References inside them keep their targets. A part with an `$id` is a
//! separate resource, which is copied unchanged.
//!
//! [`Answer`]: tool_schema::feedback::Answer

mod success;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use tool_schema::schema::{places, pointer};

use success::{build_success, declared_properties, follow_references};

/// The maximum nesting of a schema: that of the crate.
const MAX_NESTING: usize = 120;

/// Returns the schema of all answers of a tool with these schemas.
///
/// `more` contains the parameters that can have reports and are no properties of the input, with their schemas. These are
/// dynamic parameters inside nested objects (by their dotted paths, such as `leg.from`) or in the branches of a union. Static
/// values inside a parameter need no entry. References in the schemas are relative to `input`.
pub fn answer_schema(input: &Value, output: Option<&Value>, more: &[(&str, &Value)]) -> Value {
    Document::build(|document| {
        let success = build_success(document, output);
        let failure = build_failure(document, input, more);
        json!({ "type": "object", "anyOf": [success, failure] })
    })
}

/// Returns the schema of an answer that is a success: `ok`, the output, `feedback`, `instructions`.
///
/// The output's [`Form`](tool_schema::schema::answer::Form) determines the output's place. If the output declares a key of the answer, the output's schema of this
/// key holds.
pub fn success_schema(output: Option<&Value>) -> Value {
    Document::build(|document| build_success(document, output))
}

/// Returns the schema of an answer that rejects the call. `more` is as in [`answer_schema`].
pub fn failure_schema(input: &Value, more: &[(&str, &Value)]) -> Value {
    Document::build(|document| build_failure(document, input, more))
}

fn build_failure(document: &mut Document, input: &Value, more: &[(&str, &Value)]) -> Value {
    match Parameters::of(input, more) {
        Some(parameters) => {
            let properties = json!({
                "ok": { "const": false },
                "problems": document.texts(),
                "validationResults": parameters.reports(document),
                "feedback": document.texts(),
                "instructions": document.texts(),
            });
            let mut schema = object(properties, &["ok"]);
            schema["anyOf"] = json!([{ "required": ["problems"] }, { "required": ["validationResults"] }]);
            schema
        }
        None => {
            let value = document.value("input", input);
            let mut schema = document.value_reasons(&value, &["ok", "problems"]);
            schema["properties"]["ok"] = json!({ "const": false });
            schema
        }
    }
}

/// Returns the schema of `validationResults`: at least one parameter of the input, each with its report ([`report_schema`]).
/// `more` is as in [`answer_schema`].
///
/// For an input without parameters, the object must be empty.
pub fn reports_schema(input: &Value, more: &[(&str, &Value)]) -> Value {
    Document::build(|document| Parameters::of(input, more).unwrap_or_default().reports(document))
}

/// Returns the schema of a report on one parameter with the schema `value`. `names` are the names of all parameters.
pub fn report_schema(value: &Value, names: &[&str]) -> Value {
    Document::build(|document| {
        let value = document.value("value", value);
        add_value_schema(document.report(names), &value)
    })
}

/// Returns the schema of a separate object with reasons to reject a parameter: `problems`, `requiresValidParameters` or both.
pub fn reasons_schema(names: &[&str]) -> Value {
    Document::build(|document| {
        let properties = json!({ "problems": document.texts(), "requiresValidParameters": document.names(names) });
        let mut schema = object(properties, &[]);
        schema["anyOf"] = has_reason();
        schema
    })
}

/// Returns the schema of a separate object, without `ok`, with the reasons to reject an input that is one value.
pub fn value_reasons_schema(value: &Value) -> Value {
    Document::build(|document| {
        let value = document.value("value", value);
        document.value_reasons(&value, &["problems"])
    })
}

/// Returns the schema of a separate object with at most one of `allowedValues` and `suggestedValues`.
pub fn choices_schema(value: &Value) -> Value {
    Document::build(|document| {
        let value = document.value("value", value);
        let (allowed, suggested) = (list_schema(&value), non_empty_list_schema(&value));
        let mut schema = object(json!({ "allowedValues": allowed, "suggestedValues": suggested }), &[]);
        schema["not"] = both_choices();
        schema
    })
}

/// Returns the schema of a separate object with `feedback` and `instructions`.
pub fn remarks_schema() -> Value {
    Document::build(|document| object(json!({ "feedback": document.texts(), "instructions": document.texts() }), &[]))
}

/// Returns the schema of a list of at least one item.
pub fn non_empty_list_schema(item: &Value) -> Value {
    json!({ "type": "array", "items": item, "minItems": 1 })
}

/// The parameters that can have reports.
#[derive(Default)]
struct Parameters<'a> {
    input: Option<&'a Value>,
    /// The place of the properties in the input.
    at: String,
    own: Vec<(&'a str, &'a Value)>,
    more: &'a [(&'a str, &'a Value)],
}

impl<'a> Parameters<'a> {
    /// Returns the parameters, or `None` if `input` declares no properties and `more` is empty.
    fn of(input: &'a Value, more: &'a [(&'a str, &'a Value)]) -> Option<Self> {
        let (at, schema) = follow_references(input);
        match declared_properties(schema) {
            Some(own) => {
                let own = own.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
                Some(Self { input: Some(input), at: pointer::join(&at, "properties"), own, more })
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
            // The input's property takes precedence over an entry of `more`.
            if properties.contains_key(name) {
                continue;
            }
            let value = self.value_schema(document, name, schema, is_own);
            let report = document.report(&self.names());
            properties.insert(name.to_owned(), add_value_schema(report, &value));
        }
        let is_empty = properties.is_empty();
        let mut schema = object(properties, &[]);
        if !is_empty {
            schema["minProperties"] = 1.into();
        }
        // A mistake inside a value is reported under its path.
        let nested: Map<String, Value> = self
            .own
            .iter()
            .filter(|(_, schema)| can_nest(schema))
            .map(|(name, _)| (format!("^{}\\.", escape_pattern(name)), document.report(&self.names())))
            .collect();
        if !nested.is_empty() {
            schema["patternProperties"] = nested.into();
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

    /// Returns the schema of a parameter's values, with references for its place in the answer.
    fn value_schema(&self, document: &mut Document, name: &str, schema: &Value, is_own: bool) -> Value {
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
            let place = encode(&pointer::join(&self.at, name));
            return json!({ "$ref": format!("{PLACE}{place}") });
        }
        document.define(&format!("input.{name}"), |_| written)
    }
}

/// Returns whether a value of the schema can be an object or a list.
fn can_nest(schema: &Value) -> bool {
    let is_scalar =
        |name: &Value| ["string", "number", "integer", "boolean", "null"].iter().any(|scalar| name == scalar);
    let is_listed = schema.get("enum").is_some() || schema.get("const").is_some();
    !is_listed
        && match schema.get("type") {
            Some(Value::Array(names)) => !names.iter().all(is_scalar),
            Some(name) => !is_scalar(name),
            None => schema.is_object(),
        }
}

/// Returns a regular expression that matches only `name`.
fn escape_pattern(name: &str) -> String {
    let mut pattern = String::new();
    for c in name.chars() {
        if "^$\\.*+?()[]{}|/".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Adds the schema `value` of the parameter to `report`.
fn add_value_schema(mut report: Value, value: &Value) -> Value {
    if *value != Value::Bool(true) && value.as_object().is_none_or(|map| !map.is_empty()) {
        let items = json!({ "items": value });
        report["properties"] = json!({ "normalizedValue": value, "allowedValues": items, "suggestedValues": items });
    }
    report
}

/// The definitions of a schema. A method such as `texts` adds a definition, and returns a reference to it.
#[derive(Default)]
struct Document {
    definitions: Map<String, Value>,
}

/// Returns the schema of a closed object with these properties.
fn object(properties: impl Into<Value>, required: &[&str]) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    Value::Object(schema)
}

/// Returns the schema of a list of these items.
fn list_schema(item: &Value) -> Value {
    json!({ "type": "array", "items": item })
}

fn both_choices() -> Value {
    json!({ "required": ["allowedValues", "suggestedValues"] })
}

fn has_reason() -> Value {
    json!([{ "required": ["problems"] }, { "required": ["requiresValidParameters"] }])
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#{}", encode(&pointer::join("/$defs", name))) })
}

impl Document {
    /// Returns the schema that `build` returns, with the definitions that the schema needs.
    fn build(build: impl FnOnce(&mut Self) -> Value) -> Value {
        let mut document = Self::default();
        let mut schema = build(&mut document);
        if let (Value::Object(map), false) = (&mut schema, document.definitions.is_empty()) {
            map.insert("$defs".to_owned(), Value::Object(document.definitions));
        }
        schema
    }

    /// Returns a reference to the definition `name`. Calls `make` if the definition is missing.
    fn define(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.definitions.contains_key(name) {
            let made = make(self);
            self.definitions.insert(name.to_owned(), made);
        }
        reference(name)
    }

    /// Returns the schema of another document if it is short. Otherwise, adds it as a definition and returns a reference.
    fn value(&mut self, name: &str, schema: &Value) -> Value {
        let written = move_schema(schema, schema, &format!("#/$defs/{name}"), true);
        if is_short(&written) { written } else { self.define(name, |_| written) }
    }

    fn texts(&mut self) -> Value {
        self.define("texts", |_| non_empty_list_schema(&json!({ "type": "string" })))
    }

    fn names(&mut self, names: &[&str]) -> Value {
        self.define("names", |_| {
            non_empty_list_schema(&if names.is_empty() { json!({ "not": {} }) } else { json!({ "enum": names }) })
        })
    }

    /// Returns the schema of a report on one parameter with any value.
    fn report(&mut self, names: &[&str]) -> Value {
        self.define("report", |document| {
            let properties = json!({
                "valid": { "type": "boolean" },
                "problems": document.texts(),
                "requiresValidParameters": document.names(names),
                "normalizedValue": {},
                "dynamicParameterSchema": {},
                "allowedValues": { "type": "array" },
                "suggestedValues": { "type": "array", "minItems": 1 },
                "feedback": document.texts(),
                "instructions": document.texts(),
            });
            let mut schema = object(properties, &["valid"]);
            // A report is either valid or has a reason.
            schema["oneOf"] = json!([{ "properties": { "valid": { "const": true } } }, { "anyOf": has_reason() }]);
            schema["not"] = both_choices();
            schema
        })
    }

    fn value_reasons(&mut self, value: &Value, required: &[&str]) -> Value {
        let properties = json!({
            "problems": self.texts(),
            "normalizedValue": value,
            "dynamicParameterSchema": {},
            "allowedValues": list_schema(value),
            "suggestedValues": non_empty_list_schema(value),
            "feedback": self.texts(),
            "instructions": self.texts(),
        });
        let mut schema = object(properties, required);
        schema["not"] = both_choices();
        schema
    }
}

/// Returns whether `schema` is at most as long as a usual reference, and has no references.
fn is_short(schema: &Value) -> bool {
    const MAX_INLINE_BYTES: usize = 48;
    match schema {
        // Most schemas have too many keywords to be short.
        Value::Object(map) if map.len() > 3 => false,
        schema => !has_references(schema) && schema.to_string().len() <= MAX_INLINE_BYTES,
    }
}

/// Returns `part` of `document` for another document, which has `document` at `base`. References are changed accordingly.
///
/// If `drop_notes` is set, keywords that are only for readers are dropped.
fn move_schema(part: &Value, document: &Value, base: &str, drop_notes: bool) -> Value {
    let name = document.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
    let mut copy = part.clone();
    if let Value::Object(map) = &mut copy {
        map.shift_remove("$schema");
        map.shift_remove("$id");
    }
    move_references(&mut copy, &Move { name, base, drop_notes }, 0);
    copy
}

struct Move<'a> {
    /// The `$id` of the document.
    name: Option<&'a str>,
    base: &'a str,
    drop_notes: bool,
}

/// The keywords that only inform the reader of a schema.
const NOTES: [&str; 8] =
    ["$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"];

fn move_references(schema: &mut Value, to: &Move<'_>, level: usize) {
    if level > MAX_NESTING {
        *schema = Value::Bool(true);
    }
    let Value::Object(map) = schema else { return };
    // References in a separate resource are relative to that resource.
    if map.contains_key("$id") {
        return;
    }
    if to.drop_notes {
        map.retain(|word, _| !NOTES.contains(&word.as_str()));
    }
    for word in ["$ref", "$dynamicRef"] {
        if let Some(Value::String(reference)) = map.get_mut(word) {
            let local = to.name.and_then(|name| reference.strip_prefix(name)).unwrap_or(reference);
            // Anchors need no place.
            let pointer = local.strip_prefix('#').unwrap_or(local);
            if pointer.starts_with('/') && local.starts_with('#') || pointer.is_empty() {
                *reference = format!("{}{pointer}", to.base);
            }
        }
    }
    let places: Vec<String> = places::children(schema, "").into_iter().map(|(_, place, _)| place).collect();
    for place in places {
        move_references(schema.pointer_mut(&place).expect("the place of a child"), to, level + 1);
    }
}

/// Returns a pointer as a URI fragment.
fn encode(pointer: &str) -> String {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte);
    pointer
        .bytes()
        .map(|byte| if is_allowed(byte) { char::from(byte).into() } else { format!("%{byte:02X}") })
        .collect()
}

fn has_references(schema: &Value) -> bool {
    fn look(schema: &Value, level: usize) -> bool {
        let Value::Object(map) = schema else { return false };
        level > MAX_NESTING
            || map.contains_key("$ref")
            || map.contains_key("$dynamicRef")
            || places::children(schema, "").into_iter().any(|(.., child)| look(child, level + 1))
    }
    look(schema, 0)
}
