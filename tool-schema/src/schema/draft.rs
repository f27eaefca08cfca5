//! The drafts of JSON Schema.

use serde_json::Value;

use super::places;

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
