//! The kinds of JSON values.

use serde_json::{Map, Value};

use super::{draft::Draft, number};

/// A kind of JSON value, as `type` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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

    pub fn name(self) -> &'static str {
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

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the kind of `value`; a whole number is an integer.
    pub fn of(value: &Value) -> Self {
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

    /// Returns whether a schema of `draft` that names this type accepts `value`: draft 4 asks how a number is written.
    pub fn accepts(self, value: &Value, draft: Draft) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(value)) if draft == Draft::Four => value.is_i64() || value.is_u64(),
            (Self::Integer, Value::Number(value)) => number::is_whole(value),
            (Self::Number, Value::Number(_)) => true,
            (kind, value) => kind == Self::of(value),
        }
    }

    /// Returns whether every value of this kind is one of `other`.
    pub fn is_a(self, other: Self) -> bool {
        self == other || (self == Self::Integer && other == Self::Number)
    }

    /// Returns the kind that `word` limits; none for words that are about all or none.
    pub fn of_word(word: &str) -> Option<Self> {
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

/// Returns the kinds that `type` in `schema` allows, in its order; none where it is not there.
pub fn named_kinds(schema: &Map<String, Value>) -> Option<Vec<Kind>> {
    match schema.get("type")? {
        Value::String(name) => Some(Kind::named(name).into_iter().collect()),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).filter_map(Kind::named).collect()),
        _ => None,
    }
}

/// Returns the kinds that both lists allow, in the order of the first.
pub fn common(a: &[Kind], b: &[Kind]) -> Vec<Kind> {
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
    simplify(found)
}

/// Removes an `integer` beside a `number`.
pub fn simplify(mut kinds: Vec<Kind>) -> Vec<Kind> {
    if kinds.contains(&Kind::Number) {
        kinds.retain(|kind| *kind != Kind::Integer);
    }
    kinds
}
