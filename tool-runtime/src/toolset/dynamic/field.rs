//! A dynamic parameter, as it is added to a tool.

use std::fmt;

use serde_json::Value;

use super::Known;
use crate::tool::{
    IntoValidation,
    dynamic::{Asking, Kept, Validator},
    expansion::SaidFallback,
};

/// Asks a validator about a value that was given.
pub type Ask = dyn Fn(Option<Kept>, Known) -> Asking<'static> + Send + Sync;

/// A parameter that is judged by code of the application: what it depends on, and its validator.
#[must_use = "add it to a tool"]
pub struct DynamicField {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) requires: Vec<String>,
    pub(super) after: Vec<String>,
    pub(super) hints: Vec<String>,
    pub(super) validator: Option<Box<Ask>>,
}

impl DynamicField {
    /// The parameter called `name`, which is a property of the tool's schema.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            requires: Vec::new(),
            after: Vec::new(),
            hints: Vec::new(),
            validator: None,
        }
    }

    /// Sets what the model is told of it, in place of the schema's description.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Says which dynamic parameters must be accepted before this one is judged. Until they are, the model is told to give
    /// them first.
    pub fn requires<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.requires.extend(names.into_iter().map(Into::into));
        self
    }

    /// Says which dynamic parameters are judged before this one, whatever comes of it.
    pub fn after<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.after.extend(names.into_iter().map(Into::into));
        self
    }

    /// Says which dynamic parameters the validator sees as they were given, judged or not. It does not wait for them.
    pub fn hints<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.hints.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the validator: it gets the value that was given, if any, and what is known of the others. The value fits the
    /// schema of the property. The value that it accepts must fit the schema too, or be `null`: the handler gets the `null`,
    /// also where the schema has none. A model cannot give a `null` that the schema refuses.
    ///
    /// A validator is asked again before the call starts, about the value that it accepted. It must accept that value.
    ///
    /// It returns a [`Validation`](crate::Validation), or a `Result` of one with a [`Failure`](crate::Failure). A failure or a panic
    /// refuses the value, and the model is told no more of it than [`Failure::new`](crate::Failure::new) says.
    pub fn validate<F, R>(mut self, validate: F) -> Self
    where
        F: Fn(Option<Value>, Known) -> R + Send + Sync + 'static,
        R: IntoValidation<Value>,
    {
        self.validator =
            Some(Box::new(move |held, known| Validator::<Value, Known>::of(&validate).ask(held, known).settle()));
        self
    }

    /// The same with a validator that has to wait for something. Those that do not wait for each other run at the same
    /// time.
    pub fn validate_async<F, R>(mut self, validate: F) -> Self
    where
        F: Fn(Option<Value>, Known) -> R + Send + Sync + 'static,
        R: Future<Output: IntoValidation<Value>> + Send + 'static,
    {
        self.validator = Some(Box::new(move |held, known| {
            SaidFallback::settle(Validator::<Value, Known>::of(&validate).ask(held, known))
        }));
        self
    }
}

impl fmt::Debug for DynamicField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DynamicField")
            .field("name", &self.name)
            .field("requires", &self.requires)
            .field("after", &self.after)
            .field("hints", &self.hints)
            .finish_non_exhaustive()
    }
}
