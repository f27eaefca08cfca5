//! The kinds of JSON values.

use serde_json::{Map, Value};

use crate::schema::number;

/// A kind of JSON value, as `type` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::schema) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Object,
    Array,
    Null,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Object, Self::Array, Self::Null];

    pub(in crate::schema) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::Null => "null",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of `value`; a whole number is an integer.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(one) if number::whole(one).is_some() => Self::Integer,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Whether every value of this kind is one of `other`.
    pub(super) fn is_a(self, other: Self) -> bool {
        self == other || (self == Self::Integer && other == Self::Number)
    }

    /// The kind that `word` limits; none for words that are about all or none.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        match word {
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding" | "contentMediaType" => {
                Some(Self::String)
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => Some(Self::Number),
            "items" | "prefixItems" | "additionalItems" | "contains" | "minContains" | "maxContains" | "minItems"
            | "maxItems" | "uniqueItems" | "unevaluatedItems" => Some(Self::Array),
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "propertyNames"
            | "required"
            | "minProperties"
            | "maxProperties"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedProperties" => Some(Self::Object),
            _ => None,
        }
    }
}

/// The kinds that `type` in `schema` allows, in its order; none where it is not there.
pub(super) fn allowed(schema: &Map<String, Value>) -> Option<Vec<Kind>> {
    match schema.get("type")? {
        Value::String(name) => Some(Kind::named(name).into_iter().collect()),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).filter_map(Kind::named).collect()),
        _ => None,
    }
}

/// The kinds that both lists allow, in the order of the first.
pub(super) fn common(a: &[Kind], b: &[Kind]) -> Vec<Kind> {
    let mut found: Vec<Kind> = Vec::new();
    for &one in a {
        for &other in b {
            let both = if one.is_a(other) {
                one
            } else if other.is_a(one) {
                other
            } else {
                continue;
            };
            if !found.contains(&both) {
                found.push(both);
            }
        }
    }
    simplified(found)
}

/// Without an `integer` beside a `number`.
pub(super) fn simplified(mut kinds: Vec<Kind>) -> Vec<Kind> {
    if kinds.contains(&Kind::Number) {
        kinds.retain(|kind| *kind != Kind::Integer);
    }
    kinds
}
