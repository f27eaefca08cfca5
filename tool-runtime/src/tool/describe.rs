//! The schema of a tool's arguments, put together from its parameters.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{AnyField, Rule, def, field::Described, rule::Unit};
use crate::schema::{Schema, needs_check};

/// The schema of the arguments.
pub(super) struct Input {
    pub(super) schema: Schema,
    /// Whether the types of the parameters promise limits that decoding alone does not check.
    pub(super) guarded: bool,
}

/// The schema of an object with `fields`.
pub(super) fn input(fields: &[&dyn AnyField]) -> Input {
    let mut generator = generator();
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut plain = Vec::new();
    for field in fields {
        let param = field.param();
        if param.secret {
            continue;
        }
        let described = field.describe(&mut generator);
        if described.required {
            required.push(Value::from(param.name));
        }
        plain.push(described.schema.as_value().clone());
        properties.insert(param.name.to_owned(), property(described, param.description, param.examples));
    }
    let definitions = generator.take_definitions(true);
    let guarded = needs_check(&json!({ "allOf": plain, "$defs": definitions }));
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema["additionalProperties"] = Value::Bool(false);
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    Input { schema: Schema::from_schemars(schema), guarded }
}

/// The schema of an output, if it has one.
pub(super) fn output(describe: impl FnOnce(&mut SchemaGenerator) -> Option<schemars::Schema>) -> Option<Schema> {
    whole(SchemaSettings::draft2020_12().for_serialize().into_generator(), describe)
}

/// The schema of an output that somebody outside gives, and that is read here.
pub(super) fn answer(describe: impl FnOnce(&mut SchemaGenerator) -> Option<schemars::Schema>) -> Option<Schema> {
    whole(generator(), describe)
}

fn whole(
    mut generator: SchemaGenerator,
    describe: impl FnOnce(&mut SchemaGenerator) -> Option<schemars::Schema>,
) -> Option<Schema> {
    let mut schema = describe(&mut generator)?.as_value().clone();
    let definitions = generator.take_definitions(true);
    if let (Value::Object(schema), false) = (&mut schema, definitions.is_empty()) {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Some(Schema::from_schemars(schema))
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// What the type says about itself, and the declaration about the parameter.
fn property(described: Described, description: &str, examples: &[&str]) -> Value {
    let mut schema = match Value::from(described.schema) {
        Value::Object(schema) => schema,
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    };
    if !description.is_empty() {
        schema.insert("description".to_owned(), description.into());
    }
    for rule in described.rules {
        write(rule, &mut schema);
    }
    if let Some(default) = described.default {
        schema.insert("default".to_owned(), default);
    }
    if !examples.is_empty() {
        schema.insert("examples".to_owned(), examples.iter().map(|text| def::json(text)).collect());
    }
    Value::Object(schema)
}

/// Writes a rule as JSON Schema keywords.
fn write(rule: Rule, schema: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| schema.insert(key.to_owned(), value);
    match rule {
        Rule::Range { min, max, exclusive } => {
            if let Some(min) = min {
                put("minimum", min.to_json());
            }
            if let Some(max) = max {
                put(if exclusive { "exclusiveMaximum" } else { "maximum" }, max.to_json());
            }
        }
        Rule::Length { min, max, unit } => {
            let (least, most) = match unit {
                Unit::Characters => ("minLength", "maxLength"),
                Unit::Items => ("minItems", "maxItems"),
                Unit::Entries => ("minProperties", "maxProperties"),
            };
            if min > 0 {
                put(least, min.into());
            }
            if let Some(max) = max {
                put(most, max.into());
            }
        }
        Rule::Pattern(pattern) => {
            put("pattern", pattern.source().into());
        }
        Rule::Format(format) => {
            put("format", format.name().into());
        }
    }
}
