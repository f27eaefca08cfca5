//! The versions of JSON Schema.

use serde_json::Value;

use crate::schema::words;

/// A version of JSON Schema, as far as versions differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::schema) enum Draft {
    /// Draft 4 and before: `exclusiveMinimum` is a flag.
    Four,
    /// Drafts 6 and 7: what stands beside a `$ref` counts for nothing.
    Seven,
    /// 2019-09: `items` can be a list.
    Nineteen,
    /// 2020-12, and what is meant where nothing is said.
    Twenty,
}

impl Draft {
    pub(in crate::schema) fn of(schema: &Value) -> Self {
        let name =
            schema.as_object().and_then(|root| words::get(root, "$schema")).and_then(Value::as_str).unwrap_or_default();
        if ["draft-03", "draft-04"].iter().any(|old| name.contains(old)) {
            Self::Four
        } else if ["draft-06", "draft-07"].iter().any(|old| name.contains(old)) {
            Self::Seven
        } else if name.contains("2019-09") {
            Self::Nineteen
        } else {
            Self::Twenty
        }
    }

    /// Whether what stands beside a `$ref` counts.
    pub(in crate::schema) fn reference_has_siblings(self) -> bool {
        self >= Self::Nineteen
    }
}
