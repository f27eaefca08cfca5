//! The drafts of JSON Schema, and the values that their meta-schemas allow for each keyword.

use serde_json::{Map, Value};

use super::compiled::{CompileError, truncate};
use super::data::{self, Kind};
use super::graph::{Graph, address, all_unique};
use super::{places, pointer};
use crate::feedback::summarize;

/// A draft of JSON Schema. Drafts without a relevant difference share a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draft {
    /// Draft 4 and before: `exclusiveMinimum` is a flag.
    Four,
    /// Draft 6: `exclusiveMinimum` is a bound, and a schema can be a boolean.
    Six,
    /// Draft 7: it adds `if`. Up to this draft, keywords beside a `$ref` are ignored.
    Seven,
    /// 2019-09: the last draft in which `items` can be a list.
    Nineteen,
    /// 2020-12, and the draft of a schema that names none.
    Twenty,
}

impl Draft {
    /// Returns the draft that `schema` names, even in an unknown URI that contains a known name. The default is 2020-12.
    pub fn of(schema: &Value) -> Self {
        let name = schema
            .as_object()
            .and_then(|root| places::get(root, "$schema"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        if ["draft-03", "draft-04"].iter().any(|old| name.contains(old)) {
            Self::Four
        } else if name.contains("draft-06") {
            Self::Six
        } else if name.contains("draft-07") {
            Self::Seven
        } else if name.contains("2019-09") {
            Self::Nineteen
        } else {
            Self::Twenty
        }
    }

    /// Returns the draft with this URI, or `None` for an unknown URI.
    pub fn by_uri(uri: &str) -> Option<Self> {
        let (_, name) = uri.trim_end_matches('#').split_once("://json-schema.org/")?;
        Some(match name {
            "draft-04/schema" => Self::Four,
            "draft-06/schema" => Self::Six,
            "draft-07/schema" => Self::Seven,
            "draft/2019-09/schema" => Self::Nineteen,
            "draft/2020-12/schema" => Self::Twenty,
            _ => return None,
        })
    }

    /// Returns whether keywords beside a `$ref` count.
    pub fn reference_has_siblings(self) -> bool {
        self >= Self::Nineteen
    }
}

/// Returns the draft of `schema`. An unknown `$schema` means 2020-12, with a warning. A different draft below the root also
/// adds a warning, and the root's draft applies.
pub fn read(schema: &Value, warnings: &mut Vec<String>) -> Draft {
    let draft = match uri(schema) {
        None => Draft::Twenty,
        Some(uri) => Draft::by_uri(uri).unwrap_or_else(|| {
            let name = schema.get("$schema").map(summarize).unwrap_or_default();
            warnings.push(format!("`$schema` is {name}, which is not a known draft; read as 2020-12"));
            Draft::Twenty
        }),
    };
    for place in inner_drafts(schema, draft) {
        let uri = schema.pointer(&place).and_then(uri).unwrap_or_default();
        if Draft::by_uri(uri) != Some(draft) {
            let uri = summarize(&Value::from(uri));
            warnings.push(format!("{place} names another draft, {uri}; read by the draft of the root"));
        }
    }
    draft
}

/// Returns the URI of the draft that `schema` names.
fn uri(schema: &Value) -> Option<&str> {
    schema.get("$schema")?.as_str()
}

/// Returns the places of the schemas below the root of `schema` that name a draft.
pub fn inner_drafts(schema: &Value, draft: Draft) -> Vec<String> {
    let is_inner = |value: &Value| address(value) != address(schema) && uri(value).is_some();
    if places::find(schema, &is_inner).is_empty() {
        return Vec::new();
    }
    let (_, ids) = Graph::build(schema, draft);
    // A schema without a node is data, or is never used.
    places::find(schema, &|value| is_inner(value) && ids.contains_key(&address(value)))
}

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

/// Checks the values of the keywords of `schema` and of the schemas inside it. Fails if one is invalid.
pub fn check(schema: &Value, draft: Draft) -> Result<(), CompileError> {
    check_below(schema, draft, "")
}

fn check_below(schema: &Value, draft: Draft, at: &str) -> Result<(), CompileError> {
    if let Some((word, expected)) = find_fault(schema, draft) {
        let got = schema.get(word).unwrap_or(schema);
        let at = if word.is_empty() { at.to_owned() } else { pointer::join(at, word) };
        let at = if at.is_empty() { String::new() } else { format!("at {}: ", truncate(&at)) };
        return Err(CompileError(format!("{at}expected {expected}, got {}", summarize(got))));
    }
    let mut inside = places::children(schema, at).into_iter().filter(|(word, ..)| expected_form(word, draft).is_some());
    inside.try_for_each(|(_, at, inner)| check_below(inner, draft, &at))
}

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
