//! A schema in the form of one dialect.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Value, value::RawValue};

use super::Dialect;

/// A schema in the form of one dialect.
#[derive(Clone, Debug)]
pub struct Lowered {
    json: Arc<RawValue>,
    losses: Vec<Loss>,
}

/// Something that a dialect cannot say. Our decoder checks it all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where in the neutral schema: a JSON Pointer.
    pub path: String,
    /// The keyword that was left out or weakened.
    pub keyword: String,
    /// What became of it.
    pub note: String,
}

impl Lowered {
    pub(super) fn new(neutral: &Value, _dialect: Dialect) -> Self {
        let json = serde_json::value::to_raw_value(neutral).expect("a Value is always JSON").into();
        Self { json, losses: Vec::new() }
    }

    /// The schema as JSON text, rendered once and shared.
    pub fn json(&self) -> &Arc<RawValue> {
        &self.json
    }

    /// What the dialect could not express.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Turns arguments that follow the lowered schema back into ones that follow the neutral one: a `null` that stands
    /// for "not given" only because the dialect has no optional properties is taken out.
    pub fn raise<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(arguments)
    }
}
