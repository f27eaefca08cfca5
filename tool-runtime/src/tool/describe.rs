//! The schema of a tool's arguments, put together from its parameters.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{Def, Field, Param, Rule, Union, def, field::Described, rule::Unit};
use crate::schema::Schema;
use tool_schema::schema::needs_check;

/// The schema of the arguments.
pub struct Input {
    pub schema: Schema,
    /// Whether the types of the parameters promise limits that decoding alone does not check.
    pub guarded: bool,
}

/// The schema of an object with `fields`.
pub fn input(fields: &[Field]) -> Input {
    let mut generator = generator();
    let mut types = Vec::with_capacity(fields.len());
    let mut schema = object(fields, &mut generator, |field, schema| {
        // What the type promises, before the declaration adds to it. A nested object is checked by itself.
        if !field.nested {
            types.push(schema.clone());
        }
    });
    let definitions = generator.take_definitions(true);
    let guarded = if definitions.is_empty() {
        types.iter().any(needs_check)
    } else {
        needs_check(&json!({ "allOf": types, "$defs": definitions }))
    };
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Input { schema: Schema::from_schemars(schema), guarded }
}

/// The schema of an input that is one of several.
pub fn union(union: &Union) -> Input {
    let mut generator = generator();
    let branches = union.variants.iter().map(|(_, def)| Value::Object(whole_object(def(), &mut generator)));
    let branches: Vec<Value> = branches.collect();
    let tags: Vec<&str> = union.variants.iter().map(|(tag, _)| *tag).collect();
    let mut schema = tagged(union.tag, &tags);
    schema.insert("oneOf".to_owned(), Value::Array(branches));
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    // The variants are checked each by itself.
    Input { schema: Schema::from_schemars(schema), guarded: false }
}

/// The schema of what `def` declares, as part of another.
pub fn whole_object(def: &Def, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut schema = object(def.fields, generator, |_, _| {});
    if !def.description.is_empty() {
        schema.insert("description".to_owned(), def.description.into());
    }
    schema
}

/// The schema of an object with the entry `tag`, which is one of `values`.
pub fn tagged(tag: &str, values: &[&str]) -> Map<String, Value> {
    let Value::Object(schema) = json!({
        "type": "object",
        "properties": { tag: { "type": "string", "enum": values } },
        "required": [tag],
    }) else {
        unreachable!("an object is written")
    };
    schema
}

/// The schema of an object with `fields`, whose definitions are those of `generator`; `each` sees those of the types.
pub fn object(
    fields: &[Field],
    generator: &mut SchemaGenerator,
    mut each: impl FnMut(&Field, &Value),
) -> Map<String, Value> {
    let mut properties = Map::with_capacity(fields.len());
    let mut required = Vec::new();
    for field in fields.iter().filter(|field| !field.param.secret) {
        let (param, mut described) = (&field.param, field.describe(generator));
        let schema = Value::from(std::mem::take(&mut described.schema));
        each(field, &schema);
        if described.required {
            required.push(Value::from(param.name));
        }
        properties.insert(param.name.to_owned(), property(schema, described, param));
    }
    let mut schema = Map::with_capacity(5);
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema
}

/// The schema of an output, if it has one.
pub(crate) fn output(describe: impl FnOnce(&mut SchemaGenerator) -> Option<schemars::Schema>) -> Option<Schema> {
    whole(SchemaSettings::draft2020_12().for_serialize().into_generator(), describe)
}

/// The schema of an output that somebody outside gives, and that is read here.
pub fn answer(describe: impl FnOnce(&mut SchemaGenerator) -> Option<schemars::Schema>) -> Option<Schema> {
    whole(generator(), describe)
}

fn whole(
    mut generator: SchemaGenerator,
    describe: impl FnOnce(&mut SchemaGenerator) -> Option<schemars::Schema>,
) -> Option<Schema> {
    let mut schema = Value::from(describe(&mut generator)?);
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
fn property(schema: Value, described: Described, param: &Param) -> Value {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    };
    if !param.description.is_empty() {
        schema.insert("description".to_owned(), param.description.into());
    }
    for rule in described.rules {
        write(rule, &mut schema);
    }
    if let Some(default) = described.default {
        schema.insert("default".to_owned(), default);
    }
    if !param.examples.is_empty() {
        schema.insert("examples".to_owned(), param.examples.iter().map(|text| def::json(text)).collect());
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
