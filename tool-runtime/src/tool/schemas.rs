//! The schemas that the types of outputs and arguments have.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use crate::schema::Schema;
use tool_schema::schema::{places, restore_limits};

/// Returns the schema of an output that is written here.
pub fn describe_output(describe: impl FnOnce(&mut SchemaGenerator) -> Option<schemars::Schema>) -> Option<Schema> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = describe(&mut generator)?;
    let mut schema = with_definitions(schema.into(), generator);
    let mut decimals = Vec::new();
    places::visit(&schema, &mut |at, part| {
        decimals.extend((part["pattern"] == WRITTEN_DECIMAL).then(|| format!("{at}/pattern")));
    });
    if decimals.is_empty() {
        return Some(Schema::from_schemars(schema));
    }
    let earlier = schema.clone();
    for at in decimals {
        if let Some(pattern) = schema.pointer_mut(&at) {
            *pattern = r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$".into();
        }
    }
    Some(with_earlier(schema, earlier))
}

/// The pattern of a decimal number that schemars states for outputs. `bigdecimal` writes small numbers as `1E-7`.
const WRITTEN_DECIMAL: &str = r"^-?\d+(\.\d+)?$";

/// Returns the schema of an output that comes from a client and is read here.
pub fn describe_external_output(describe: impl Fn(&mut SchemaGenerator) -> Option<schemars::Schema>) -> Option<Schema> {
    let is_described = describe(&mut SchemaSettings::draft2020_12().into_generator()).is_some();
    is_described.then(|| describe_root(|generator| describe(generator).map(Value::from).unwrap_or_default(), |_| {}))
}

/// Returns the schema of values that are read here, with the limits that schemars drops, and changed by `finish`.
pub fn describe_root(describe: impl Fn(&mut SchemaGenerator) -> Value, finish: fn(&mut Value)) -> Schema {
    let describe = |inline: bool| {
        let mut generator = SchemaSettings::draft2020_12().with(|to| to.inline_subschemas = inline).into_generator();
        let schema = describe(&mut generator);
        with_definitions(schema, generator)
    };
    let earlier = describe(false);
    let mut schema = earlier.clone();
    if schema.get("$defs").is_some() {
        restore_limits(&mut schema, || describe(true));
    }
    finish(&mut schema);
    with_earlier(schema, earlier)
}

/// Returns the schema, with the form that earlier versions gave to it if that was another one.
fn with_earlier(schema: Value, earlier: Value) -> Schema {
    let is_other = schema != earlier;
    let schema = Schema::from_schemars(schema);
    if is_other { schema.with_earlier(earlier) } else { schema }
}

fn with_definitions(mut schema: Value, mut generator: SchemaGenerator) -> Value {
    let definitions = generator.take_definitions(true);
    if let (Value::Object(schema), false) = (&mut schema, definitions.is_empty()) {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}
