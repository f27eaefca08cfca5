//! The values that the meta-schemas of the drafts allow for each keyword.

use serde_json::{Map, Value};

use super::{
    data::{self, Kind, all_unique},
    draft::Draft,
    places,
};

/// A form of a keyword's value: its description, and a test.
pub type Form = (&'static str, fn(&Value, Draft) -> bool);

const SCHEMA: Form = ("a schema", is_schema);
const SCHEMA_OR_FLAG: Form = ("a schema, true or false", |value, _| places::is_schema(value));
const SCHEMA_OR_SCHEMAS: Form =
    ("a schema or a list of schemas", |value, draft| is_schema(value, draft) || are_schemas(value, draft));
const SCHEMAS: Form = ("a list of schemas that is not empty", are_schemas);
const NAMED_SCHEMAS: Form = ("an object of schemas", |value, draft| are_named(value, |one| is_schema(one, draft)));
const NAMED_SCHEMAS_OR_TEXTS: Form = ("an object of schemas and lists of different names", |value, draft| {
    are_named(value, |one| is_schema(one, draft) || are_names(one))
});
const NAMED_TEXTS: Form = ("an object of lists of different names", |value, _| are_named(value, are_names));
const NAMED_FLAGS: Form = ("an object of true and false", |value, _| are_named(value, Value::is_boolean));
const TYPES: Form = (
    "\"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\", or a list of different ones",
    |value, _| are_types(value),
);
const LIST: Form = ("a list", |value, _| value.is_array());
const NUMBER: Form = ("a number", |value, _| value.is_number());
const POSITIVE: Form = ("a number greater than 0", |value, _| value.as_f64().is_some_and(|number| number > 0.0));
const COUNT: Form = ("a whole number of at least 0", |value, _| {
    value.as_number().is_some_and(data::is_integer) && value.as_f64() >= Some(0.0)
});
const FLAG: Form = ("true or false", |value, _| value.is_boolean());
const TEXT: Form = ("a string", |value, _| value.is_string());
const TEXTS: Form = ("a list of different names", |value, _| are_names(value));
const RESOURCE: Form = ("a URI without a fragment", |value, _| {
    value.as_str().is_some_and(|name| !name.trim_end_matches('#').contains('#'))
});

/// Returns the first keyword of `schema` with an invalid value, and the expected form. The keyword is empty if `schema` is
/// neither an object nor a boolean.
pub fn find_fault(schema: &Value, draft: Draft) -> Option<(&str, &'static str)> {
    let Value::Object(map) = schema else {
        return (!schema.is_boolean()).then_some(("", "an object, true or false"));
    };
    faults(map, draft).next()
}

fn faults(map: &Map<String, Value>, draft: Draft) -> impl Iterator<Item = (&str, &'static str)> {
    map.iter().filter_map(move |(word, value)| {
        let (expected, fits) = expected_form(word, draft)?;
        (!fits(value, draft)).then_some((word.as_str(), expected))
    })
}

/// Returns the keywords with an invalid value, and the expected forms. No value fits an empty `enum`, so it counts as invalid.
pub fn find_faults(map: &Map<String, Value>, draft: Draft) -> Vec<(String, &'static str)> {
    let is_empty = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
    let empty = map.get("enum").filter(|list| is_empty(list)).map(|_| ("enum", "a list that is not empty"));
    faults(map, draft).chain(empty).map(|(word, expected)| (word.to_owned(), expected)).collect()
}

/// Returns the form that `draft` demands for the value of the keyword `word`, or `None` if `draft` does not know `word`.
pub fn expected_form(word: &str, draft: Draft) -> Option<Form> {
    let (since, form) = match word {
        "$ref" | "$schema" | "title" | "description" | "pattern" | "format" => (Draft::Four, TEXT),
        "id" if draft == Draft::Four => (Draft::Four, TEXT),
        "$id" if draft >= Draft::Nineteen => (Draft::Nineteen, RESOURCE),
        "$id" => (Draft::Six, TEXT),
        "$comment" | "contentMediaType" | "contentEncoding" => (Draft::Seven, TEXT),
        "$anchor" => (Draft::Nineteen, TEXT),
        "$recursiveRef" if draft == Draft::Nineteen => (Draft::Nineteen, TEXT),
        "$recursiveAnchor" if draft == Draft::Nineteen => (Draft::Nineteen, FLAG),
        "$dynamicRef" | "$dynamicAnchor" => (Draft::Twenty, TEXT),
        "$vocabulary" => (Draft::Nineteen, NAMED_FLAGS),
        "type" => (Draft::Four, TYPES),
        "enum" => (Draft::Four, LIST),
        "examples" => (Draft::Six, LIST),
        "multipleOf" => (Draft::Four, POSITIVE),
        "minimum" | "maximum" => (Draft::Four, NUMBER),
        "exclusiveMinimum" | "exclusiveMaximum" if draft == Draft::Four => (Draft::Four, FLAG),
        "exclusiveMinimum" | "exclusiveMaximum" => (Draft::Six, NUMBER),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => (Draft::Four, COUNT),
        "minContains" | "maxContains" => (Draft::Nineteen, COUNT),
        "uniqueItems" => (Draft::Four, FLAG),
        "readOnly" | "writeOnly" => (Draft::Seven, FLAG),
        "deprecated" => (Draft::Nineteen, FLAG),
        "required" => (Draft::Four, TEXTS),
        "dependentRequired" => (Draft::Nineteen, NAMED_TEXTS),
        "allOf" | "anyOf" | "oneOf" => (Draft::Four, SCHEMAS),
        "prefixItems" => (Draft::Twenty, SCHEMAS),
        "not" => (Draft::Four, SCHEMA),
        "contains" | "propertyNames" => (Draft::Six, SCHEMA),
        "if" | "then" | "else" => (Draft::Seven, SCHEMA),
        "contentSchema" | "unevaluatedItems" | "unevaluatedProperties" => (Draft::Nineteen, SCHEMA),
        "additionalItems" if draft == Draft::Twenty => return None,
        "additionalItems" | "additionalProperties" => (Draft::Four, SCHEMA_OR_FLAG),
        "items" if draft == Draft::Twenty => (Draft::Twenty, SCHEMA),
        "items" => (Draft::Four, SCHEMA_OR_SCHEMAS),
        "definitions" | "properties" | "patternProperties" => (Draft::Four, NAMED_SCHEMAS),
        "$defs" | "dependentSchemas" => (Draft::Nineteen, NAMED_SCHEMAS),
        "dependencies" => (Draft::Four, NAMED_SCHEMAS_OR_TEXTS),
        _ => return None,
    };
    (draft >= since).then_some(form)
}

/// Returns whether `value` can be a schema of `draft`. In draft 4, a boolean is not a schema.
pub fn is_schema(value: &Value, draft: Draft) -> bool {
    value.is_object() || (value.is_boolean() && draft > Draft::Four)
}

fn are_schemas(value: &Value, draft: Draft) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(|one| is_schema(one, draft)))
}

fn are_named(value: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|named| named.values().all(fits))
}

fn are_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string) && all_unique(names))
}

fn are_types(value: &Value) -> bool {
    let is_type = |value: &Value| value.as_str().and_then(Kind::named).is_some();
    match value {
        Value::Array(types) => !types.is_empty() && types.iter().all(is_type) && all_unique(types),
        value => is_type(value),
    }
}
