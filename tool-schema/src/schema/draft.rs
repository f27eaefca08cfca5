//! The versions of JSON Schema, and the values that each keyword may have in them, as their meta-schemas say.

use serde_json::Value;

use super::data::{self, Kind};
use super::graph::{Graph, address, are_different};
use super::validator::{Uncompilable, cut};
use super::{places, pointer};
use crate::feedback::shorten;

/// A version of JSON Schema, as far as versions differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draft {
    /// Draft 4 and before: `exclusiveMinimum` is a flag.
    Four,
    /// Draft 6: `exclusiveMinimum` is a bound, a schema can be a boolean.
    Six,
    /// Draft 7: `if`. Until here, what stands beside a `$ref` counts for nothing.
    Seven,
    /// 2019-09: `items` can be a list.
    Nineteen,
    /// 2020-12, and the draft of a schema that names none.
    Twenty,
}

impl Draft {
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

    /// Returns the draft with the URI `name`; `None` where that is no draft that we know.
    pub fn by_uri(name: &str) -> Option<Self> {
        let (_, name) = name.trim_end_matches('#').split_once("://json-schema.org/")?;
        Some(match name {
            "draft-04/schema" => Self::Four,
            "draft-06/schema" => Self::Six,
            "draft-07/schema" => Self::Seven,
            "draft/2019-09/schema" => Self::Nineteen,
            "draft/2020-12/schema" => Self::Twenty,
            _ => return None,
        })
    }

    /// Returns whether what stands beside a `$ref` counts.
    pub fn reference_has_siblings(self) -> bool {
        self >= Self::Nineteen
    }
}

/// Returns the draft of `schema`. A `$schema` that names no draft that we know is read as 2020-12, with a warning, and so
/// is one below the root for that of the whole.
pub fn read(schema: &Value, warnings: &mut Vec<String>) -> Draft {
    let draft = match named(schema) {
        None => Draft::Twenty,
        Some(name) => Draft::by_uri(name).unwrap_or_else(|| {
            let name = schema.get("$schema").map(shorten).unwrap_or_default();
            warnings.push(format!("`$schema` is {name}, which is not a known draft; read as 2020-12"));
            Draft::Twenty
        }),
    };
    for place in inner_names(schema, draft) {
        let name = schema.pointer(&place).and_then(named).unwrap_or_default();
        if Draft::by_uri(name) != Some(draft) {
            let name = shorten(&Value::from(name));
            warnings.push(format!("{place} names another draft, {name}; read by the draft of the whole"));
        }
    }
    draft
}

fn named(schema: &Value) -> Option<&str> {
    schema.get("$schema")?.as_str()
}

/// Returns the places of the schemas below the root of `schema` that name a draft.
pub fn inner_names(schema: &Value, draft: Draft) -> Vec<String> {
    let is_inner = |value: &Value| address(value) != address(schema) && named(value).is_some();
    if places::find(schema, &is_inner).is_empty() {
        return Vec::new();
    }
    let (_, ids) = Graph::build(schema, draft);
    // What has no node is data, or is never used.
    places::find(schema, &|value| is_inner(value) && ids.contains_key(&address(value)))
}

/// A form of a keyword's value.
#[derive(Clone, Copy)]
enum Form {
    Schema,
    SchemaOrFlag,
    SchemaOrSchemas,
    Schemas,
    NamedSchemas,
    NamedSchemasOrTexts,
    NamedTexts,
    NamedFlags,
    Types,
    List,
    Number,
    Positive,
    Count,
    Flag,
    Text,
    Texts,
    /// A URI without a fragment.
    Resource,
}

/// Refuses what is no schema of `draft`.
pub fn check(schema: &Value, draft: Draft) -> Result<(), Uncompilable> {
    check_below(schema, draft, "")
}

fn check_below(schema: &Value, draft: Draft, at: &str) -> Result<(), Uncompilable> {
    if let Some((word, expected)) = fault(schema, draft) {
        let got = schema.get(word).unwrap_or(schema);
        let at = if word.is_empty() { at.to_owned() } else { pointer::push(at, word) };
        return Err(refusal(&at, expected, got));
    }
    let inside = schema.as_object().into_iter().flat_map(places::inside);
    for (word, token, inner) in inside.filter(|(word, ..)| form(draft, word).is_some()) {
        check_below(inner, draft, &places::place(at, word, token.as_deref()))?;
    }
    Ok(())
}

pub fn refusal(at: &str, expected: &str, got: &Value) -> Uncompilable {
    let at = if at.is_empty() { String::new() } else { format!("at {}: ", cut(at)) };
    Uncompilable(format!("{at}expected {expected}, got {}", shorten(got)))
}

/// Returns the first keyword of `schema` that does not hold what it must, and what that is. The keyword is empty where
/// `schema` is no schema at all.
pub fn fault(schema: &Value, draft: Draft) -> Option<(&str, &'static str)> {
    let Value::Object(map) = schema else {
        return (!schema.is_boolean()).then_some(("", "an object, true or false"));
    };
    map.iter().find_map(|(word, value)| {
        let form = form(draft, word)?;
        (!form.is_of(value, draft)).then(|| (word.as_str(), form.expected()))
    })
}

fn form(draft: Draft, word: &str) -> Option<Form> {
    let (since, form) = match word {
        "$ref" | "$schema" | "title" | "description" | "pattern" | "format" => (Draft::Four, Form::Text),
        "id" if draft == Draft::Four => (Draft::Four, Form::Text),
        "$id" if draft >= Draft::Nineteen => (Draft::Nineteen, Form::Resource),
        "$id" => (Draft::Six, Form::Text),
        "$comment" | "contentMediaType" | "contentEncoding" => (Draft::Seven, Form::Text),
        "$anchor" => (Draft::Nineteen, Form::Text),
        "$recursiveRef" if draft == Draft::Nineteen => (Draft::Nineteen, Form::Text),
        "$recursiveAnchor" if draft == Draft::Nineteen => (Draft::Nineteen, Form::Flag),
        "$dynamicRef" | "$dynamicAnchor" => (Draft::Twenty, Form::Text),
        "$vocabulary" => (Draft::Nineteen, Form::NamedFlags),
        "type" => (Draft::Four, Form::Types),
        "enum" => (Draft::Four, Form::List),
        "examples" => (Draft::Six, Form::List),
        "multipleOf" => (Draft::Four, Form::Positive),
        "minimum" | "maximum" => (Draft::Four, Form::Number),
        "exclusiveMinimum" | "exclusiveMaximum" if draft == Draft::Four => (Draft::Four, Form::Flag),
        "exclusiveMinimum" | "exclusiveMaximum" => (Draft::Six, Form::Number),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            (Draft::Four, Form::Count)
        }
        "minContains" | "maxContains" => (Draft::Nineteen, Form::Count),
        "uniqueItems" => (Draft::Four, Form::Flag),
        "readOnly" | "writeOnly" => (Draft::Seven, Form::Flag),
        "deprecated" => (Draft::Nineteen, Form::Flag),
        "required" => (Draft::Four, Form::Texts),
        "dependentRequired" => (Draft::Nineteen, Form::NamedTexts),
        "allOf" | "anyOf" | "oneOf" => (Draft::Four, Form::Schemas),
        "prefixItems" => (Draft::Twenty, Form::Schemas),
        "not" => (Draft::Four, Form::Schema),
        "contains" | "propertyNames" => (Draft::Six, Form::Schema),
        "if" | "then" | "else" => (Draft::Seven, Form::Schema),
        "contentSchema" | "unevaluatedItems" | "unevaluatedProperties" => (Draft::Nineteen, Form::Schema),
        "additionalItems" if draft == Draft::Twenty => return None,
        "additionalItems" | "additionalProperties" => (Draft::Four, Form::SchemaOrFlag),
        "items" if draft == Draft::Twenty => (Draft::Twenty, Form::Schema),
        "items" => (Draft::Four, Form::SchemaOrSchemas),
        "definitions" | "properties" | "patternProperties" => (Draft::Four, Form::NamedSchemas),
        "$defs" | "dependentSchemas" => (Draft::Nineteen, Form::NamedSchemas),
        "dependencies" => (Draft::Four, Form::NamedSchemasOrTexts),
        _ => return None,
    };
    (draft >= since).then_some(form)
}

impl Form {
    fn is_of(self, value: &Value, draft: Draft) -> bool {
        // Draft 4 has no booleans for schemas.
        let is_schema = |value: &Value| value.is_object() || (value.is_boolean() && draft > Draft::Four);
        let are_schemas = |list: &Vec<Value>| !list.is_empty() && list.iter().all(is_schema);
        match (self, value) {
            (Self::SchemaOrFlag, value) => value.is_object() || value.is_boolean(),
            (Self::Schemas | Self::SchemaOrSchemas, Value::Array(list)) => are_schemas(list),
            (Self::Schema | Self::SchemaOrSchemas, value) => is_schema(value),
            (Self::NamedSchemas, Value::Object(named)) => named.values().all(is_schema),
            (Self::NamedSchemasOrTexts, Value::Object(named)) => {
                named.values().all(|value| is_schema(value) || are_names(value))
            }
            (Self::NamedTexts, Value::Object(named)) => named.values().all(are_names),
            (Self::NamedFlags, Value::Object(named)) => named.values().all(Value::is_boolean),
            (Self::Types, value) => are_types(value),
            (Self::List, value) => value.is_array(),
            (Self::Number, value) => value.is_number(),
            (Self::Positive, Value::Number(number)) => number.as_f64().is_some_and(|number| number > 0.0),
            (Self::Count, Value::Number(number)) => {
                data::is_whole(number) && number.as_f64().is_some_and(|number| number >= 0.0)
            }
            (Self::Flag, value) => value.is_boolean(),
            (Self::Text, value) => value.is_string(),
            (Self::Texts, value) => are_names(value),
            (Self::Resource, Value::String(name)) => !name.trim_end_matches('#').contains('#'),
            _ => false,
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Schema => "a schema",
            Self::SchemaOrFlag => "a schema, true or false",
            Self::SchemaOrSchemas => "a schema or a list of schemas",
            Self::Schemas => "a list of schemas that is not empty",
            Self::NamedSchemas => "an object of schemas",
            Self::NamedSchemasOrTexts => "an object of schemas and lists of different names",
            Self::NamedTexts => "an object of lists of different names",
            Self::NamedFlags => "an object of true and false",
            Self::Types => {
                "\"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\", or a list of different ones"
            }
            Self::List => "a list",
            Self::Number => "a number",
            Self::Positive => "a number greater than 0",
            Self::Count => "a whole number of at least 0",
            Self::Flag => "true or false",
            Self::Text => "a text",
            Self::Texts => "a list of different names",
            Self::Resource => "a URI without a fragment",
        }
    }
}

fn are_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string) && are_different(names))
}

fn are_types(value: &Value) -> bool {
    let is_type = |value: &Value| value.as_str().and_then(Kind::named).is_some();
    match value {
        Value::Array(types) => !types.is_empty() && types.iter().all(is_type) && are_different(types),
        value => is_type(value),
    }
}
