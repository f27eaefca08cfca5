//! A final answer of a wanted type: a tool whose arguments are the answer.

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::AgentError;
use crate::tool::{CallError, Context, DynTool, Output, Started, ToolInput, ToolSpec, Traits, refuse_as, schema_of};
use crate::toolset::Toolset;

/// A place for an answer of type `T`, and the tool that puts it there.
pub(super) struct Wanted<T> {
    place: Arc<Mutex<Option<T>>>,
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Wanted<T> {
    pub(super) const REMINDER: &'static str = "Give the answer by calling `final_answer`.";

    pub(super) fn new() -> Self {
        Self { place: Arc::new(Mutex::new(None)) }
    }

    /// `tools` and the one that takes the answer.
    pub(super) fn offer(&self, tools: &Toolset) -> Result<Toolset, AgentError> {
        let answer = FinalAnswer { place: Arc::clone(&self.place), spec: Arc::new(spec::<T>()) };
        tools.clone().with(answer).map_err(|error| AgentError::NoAnswer { reason: error.to_string() })
    }

    pub(super) fn is_given(&self) -> bool {
        lock(&self.place).is_some()
    }

    pub(super) fn take(&self) -> Option<T> {
        lock(&self.place).take()
    }
}

struct FinalAnswer<T> {
    place: Arc<Mutex<Option<T>>>,
    spec: Arc<ToolSpec>,
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> DynTool for FinalAnswer<T> {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn start<'a>(&'a self, arguments: &'a str, _cx: &'a Context) -> Result<Started<'a>, CallError> {
        let answer = Answer::<T>::read(arguments, is_object(&schema_of::<T>()))
            .map_err(|_| refuse_as(arguments, &self.spec.input))?;
        Ok(Started {
            needs_approval: false,
            work: Box::pin(async move {
                *lock(&self.place) = Some(answer);
                Output::json(&"accepted").map_err(CallError::Failed)
            }),
        })
    }

    fn answer(&self, _output: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}

struct Answer<T>(std::marker::PhantomData<T>);

impl<T: DeserializeOwned + JsonSchema> Answer<T> {
    fn read(arguments: &str, whole: bool) -> Result<T, serde_json::Error> {
        if whole {
            let (answer, length) = T::read(arguments)?;
            return if arguments[length..].trim().is_empty() { Ok(answer) } else { Err(wrong()) };
        }
        let mut value: Value = serde_json::from_str(arguments)?;
        serde_json::from_value(value.get_mut("answer").map(Value::take).ok_or_else(wrong)?)
    }
}

fn wrong() -> serde_json::Error {
    serde::de::Error::custom("expected one answer")
}

/// Providers want an object, so anything else is put into one.
fn spec<T: JsonSchema>() -> ToolSpec {
    let schema = schema_of::<T>();
    let input = if is_object(&schema) {
        schema
    } else {
        let mut wrapped = json!({
            "type": "object",
            "properties": { "answer": {} },
            "required": ["answer"],
            "additionalProperties": false
        });
        let mut inner = schema;
        if let Some(definitions) = inner.as_object_mut().and_then(|inner| inner.remove("$defs")) {
            wrapped["$defs"] = definitions;
        }
        wrapped["properties"]["answer"] = inner;
        wrapped
    };
    ToolSpec {
        name: "final_answer".to_owned(),
        title: None,
        description: "Gives the final answer. Call it once, when everything else is done.".to_owned(),
        input: Arc::new(crate::schema::Schema::from_schemars(input)),
        output: None,
        traits: Traits { effect: crate::tool::Effect::ReadOnly, ..Traits::default() },
    }
}

fn is_object(schema: &Value) -> bool {
    schema["type"] == "object"
}

fn lock<T>(place: &Mutex<Option<T>>) -> std::sync::MutexGuard<'_, Option<T>> {
    // A poisoned lock only means that another call panicked; the place itself is always whole.
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
