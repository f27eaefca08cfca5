//! A simplified view of a JSON Schema: what a person has to know to give a value.

use serde_json::Value;

use super::{check, reader, words};

/// What a value may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shape {
    /// What it consists of.
    pub(super) kind: Kind,
    /// A name for people.
    pub(super) title: Option<String>,
    /// What it means.
    pub(super) description: String,
    /// All values that are allowed, with what each of them means; empty where any value of the kind is.
    pub(super) allowed: Vec<Choice>,
    /// What is taken when nothing is given.
    pub(super) default: Option<Value>,
    /// Values that show what is meant.
    pub(super) examples: Vec<Value>,
    /// Whether `null` may stand for "nothing".
    pub(super) nullable: bool,
}

/// One allowed value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// The value.
    pub(super) value: Value,
    /// What it means, where the schema says it.
    pub(super) label: String,
}

/// What a value consists of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Kind {
    /// A text.
    Text(Text),
    /// A number; `integer` when it has no fraction.
    Number(Number),
    /// Yes or no.
    Bool,
    /// A list of values of one shape.
    List { item: Box<Shape>, least: usize, most: Option<usize>, unique: bool },
    /// Named values.
    Object { fields: Vec<Field>, open: bool },
    /// A value of one of several simple kinds.
    Either(Vec<Shape>),
    /// Any JSON.
    #[default]
    Anything,
}

/// Limits of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text {
    pub(super) least: usize,
    pub(super) most: Option<usize>,
    pub(super) pattern: Option<String>,
    pub(super) format: Option<String>,
}

/// Limits of a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Number {
    pub(super) integer: bool,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) above: Option<f64>,
    pub(super) below: Option<f64>,
    pub(super) step: Option<f64>,
}

/// A named value of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// The name on the wire.
    pub(super) name: String,
    /// Whether it must be given.
    pub(super) required: bool,
    /// What it may be.
    pub(super) shape: Shape,
}

impl Shape {
    /// Reads a schema; what is not understood becomes [`Kind::Anything`].
    pub(super) fn of(schema: &Value) -> Self {
        reader::read(schema)
    }

    /// The fields, where this is an object.
    pub(super) fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Object { fields, .. } => fields,
            _ => &[],
        }
    }

    /// The shape at a JSON Pointer, where it is known.
    pub(super) fn at(&self, pointer: &str) -> Option<&Shape> {
        let mut shape = self;
        for step in pointer.split('/').skip(1) {
            shape = match &shape.kind {
                Kind::Object { fields, .. } => {
                    let name = step.replace("~1", "/").replace("~0", "~");
                    &fields.iter().find(|field| field.name == name)?.shape
                }
                Kind::List { item, .. } => item,
                _ => return None,
            };
        }
        Some(shape)
    }

    /// The only value that is possible, where there is just one.
    pub(super) fn only(&self) -> Option<&Value> {
        match &self.allowed[..] {
            [one] if !self.nullable => Some(&one.value),
            _ => None,
        }
    }

    /// Whether it is an object that is asked for field by field.
    pub(super) fn is_form(&self) -> bool {
        self.allowed.is_empty() && self.fields().iter().any(|field| field.required)
    }

    /// Whether it is a month by its number; `name` is what it is called.
    pub(super) fn is_month(&self, name: &str) -> bool {
        let Kind::Number(limits) = &self.kind else { return false };
        let called = format!("{name} {}", self.description);
        limits.max == Some(12.0) && words::tokens(&called).iter().any(|token| token == "month")
    }

    /// Whether any text will do.
    pub(super) fn is_free_text(&self) -> bool {
        let Kind::Text(text) = &self.kind else { return false };
        self.allowed.is_empty() && text.pattern.is_none() && text.format.is_none()
    }

    /// What is wrong with a value, as a phrase that follows the name; `Ok` where nothing is.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        check::check(self, value)
    }
}

impl Choice {
    /// A value that says all by itself.
    pub(super) fn plain(value: &Value) -> Self {
        Self { value: value.clone(), label: String::new() }
    }
}
