//! A schema in the form of one dialect.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Value, value::RawValue};

use super::{Loss, Severity, raise::Plan};

/// A schema in the form of one dialect.
#[derive(Clone, Debug)]
pub struct Lowered {
    json: Arc<RawValue>,
    losses: Vec<Loss>,
    plan: Option<Arc<Plan>>,
}

impl Lowered {
    pub(super) fn new(schema: &Value, losses: Vec<Loss>, plan: Option<Plan>) -> Self {
        let json = serde_json::value::to_raw_value(schema).expect("a Value is always JSON").into();
        Self { json, losses, plan: plan.map(Arc::new) }
    }

    /// The schema as JSON text, rendered once and shared.
    pub fn json(&self) -> &Arc<RawValue> {
        &self.json
    }

    /// What the dialect could not express, in the order in which it was met.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// How much the worst loss matters; none where nothing was lost.
    pub fn worst(&self) -> Option<Severity> {
        self.losses.iter().map(|loss| loss.severity).max()
    }

    /// Whether [`raise`](Self::raise) may change anything: whether a `null` can stand for "not given".
    pub fn raises(&self) -> bool {
        self.plan.is_some()
    }

    /// Turns arguments that follow the lowered schema back into ones that follow the neutral one: a `null` that stands
    /// for "not given" only because the dialect has no optional properties is taken out, at every depth. A `null` that
    /// the neutral schema takes stays, and so does one of which it is unclear to which branch of a union it belongs.
    /// Text that is not JSON comes back as it is.
    ///
    /// ```
    /// # use tool_schema::schema::{Dialect, Schema};
    /// let schema = Schema::new(serde_json::json!({
    ///     "type": "object",
    ///     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    ///     "required": ["city"],
    /// }));
    /// let strict = schema.lowered(Dialect::OpenAiStrict);
    /// assert_eq!(strict.raise(r#"{"city":"Bern","days":null}"#), r#"{"city":"Bern"}"#);
    /// ```
    pub fn raise<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        self.plan.as_ref().map_or(Cow::Borrowed(arguments), |plan| plan.raise(arguments))
    }
}
