//! The versions of JSON Schema.

use serde_json::Value;

use super::graph::{Graph, address};
use super::{places, words};
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
        let name =
            schema.as_object().and_then(|root| words::get(root, "$schema")).and_then(Value::as_str).unwrap_or_default();
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
