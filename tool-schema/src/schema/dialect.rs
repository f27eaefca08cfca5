//! The dialects of JSON Schema, and the lowered schemas.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Value, value::RawValue};

use super::{
    losses::{Loss, Severity},
    raise::{Raiser, WRAPPER},
};

/// A form of JSON Schema that a client or a model's provider accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Complete JSON Schema 2020-12, for MCP.
    JsonSchema2020,
    /// The portable form: the part of JSON Schema that every known server takes, also behind a gateway or with a decoder that
    /// follows a grammar.
    Portable,
    /// Draft 7, for the Vercel AI SDK.
    Draft07,
    /// OpenAI's strict mode: all properties are required, optional ones are nullable, and additional ones are forbidden.
    OpenAiStrict,
    /// Gemini's subset of OpenAPI 3.
    Gemini,
    /// Anthropic's strict mode.
    Anthropic,
}

impl Dialect {
    /// Every dialect, in the order of their discriminants.
    pub const ALL: [Self; 6] =
        [Self::JsonSchema2020, Self::Portable, Self::Draft07, Self::OpenAiStrict, Self::Gemini, Self::Anthropic];
}

/// A schema in the form of one dialect.
#[derive(Clone, Debug)]
pub struct LoweredSchema {
    json: Arc<RawValue>,
    losses: Vec<Loss>,
    raiser: Option<Arc<Raiser>>,
}

impl LoweredSchema {
    pub(super) fn new(schema: &Value, losses: Vec<Loss>, raiser: Option<Raiser>) -> Self {
        let json = serde_json::value::to_raw_value(schema).expect("a Value is always JSON").into();
        Self { json, losses, raiser: raiser.map(Arc::new) }
    }

    /// Returns the schema as JSON text.
    pub fn json(&self) -> &Arc<RawValue> {
        &self.json
    }

    /// Returns the losses in the order in which they occur, at most 1,000.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Returns the severity of the worst loss, or `None` if nothing was lost.
    pub fn worst(&self) -> Option<Severity> {
        self.losses.iter().map(|loss| loss.severity).max()
    }

    /// Returns whether [`raise`](Self::raise) may change arguments.
    pub fn raises(&self) -> bool {
        self.raiser.is_some()
    }

    /// Returns whether the schema wraps the arguments in an object with one property, because some arguments are no objects.
    pub fn wraps(&self) -> bool {
        matches!(self.raiser.as_deref(), Some(Raiser::Unwrap))
    }

    /// Converts arguments for the neutral schema into arguments for the lowered one, as the model saw it: it wraps them if the
    /// schema [`wraps`](Self::wraps). Other arguments, and text that is not JSON, are returned unchanged.
    pub fn wrap<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok();
        if self.wraps() && is_json() { format!("{{\"{WRAPPER}\":{arguments}}}").into() } else { arguments.into() }
    }

    /// Converts arguments for the lowered schema into arguments for the neutral one.
    ///
    /// - Where the dialect has no optional properties, it removes each `null` that means "not given". A `null` stays if the
    ///   neutral schema accepts it, or if its branch of a union is ambiguous. Below 128 levels, every `null` stays.
    /// - If the schema [`wraps`](Self::wraps) the arguments, it takes them out of their object.
    ///
    /// Text that is not JSON is returned unchanged.
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
        self.raiser.as_ref().map_or(Cow::Borrowed(arguments), |raiser| raiser.raise(arguments))
    }
}
