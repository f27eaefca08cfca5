//! A final answer of a wanted type: a tool whose arguments are the answer.

use std::sync::{Arc, Mutex, PoisonError};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::AgentError;
use crate::feedback::{Problem, ProblemKind, Rejection, excerpt};
use crate::run::{Call, CallResult, Run};
use crate::schema::{Schema, Validator};
use crate::tool::{CallError, Context, DynTool, Effect, Output, Started, Starting, ToolSpec, Traits, fitting};
use crate::toolset::Toolset;

/// A place for an answer of type `T`, and the tool that puts it there.
pub(super) struct Wanted<T> {
    place: Arc<Mutex<Option<T>>>,
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Wanted<T> {
    pub(super) const NAME: &'static str = "final_answer";
    pub(super) const REMINDER: &'static str = "Give the answer by calling `final_answer`.";

    pub(super) fn new() -> Self {
        Self { place: Arc::new(Mutex::new(None)) }
    }

    /// `tools` and the one that takes the answer.
    pub(super) fn offer(&self, tools: &Toolset) -> Result<Toolset, AgentError> {
        let (spec, whole) = spec::<T>();
        let answer = FinalAnswer { place: Arc::clone(&self.place), spec: Arc::new(spec), whole };
        tools.clone().with(answer).map_err(|error| AgentError::NoAnswer { reason: error.to_string() })
    }

    /// The answer that was given in the last turn of `run`, in this process or another.
    pub(super) fn of(&self, run: &Run) -> Option<T> {
        if let Some(answer) = lock(&self.place).take() {
            return Some(answer);
        }
        let is_it = |call: &&Call| call.name == Self::NAME && call.result().is_some_and(CallResult::is_success);
        let text = &run.current().iter().rev().find(is_it)?.arguments().text;
        let (spec, whole) = spec::<T>();
        FinalAnswer { place: Arc::clone(&self.place), spec: Arc::new(spec), whole }.read(text).ok()
    }

    /// The schema of the tool's arguments: what a run keeps of it.
    pub(super) fn schema() -> Value {
        spec::<T>().0.input.neutral().clone()
    }
}

/// `tools` and the one that takes the answer which `run` waits for, of whatever type: for a process that does not know it.
pub(super) fn with_answer(tools: &Toolset, run: &Run) -> Option<Toolset> {
    let (name, schema) = run.until()?;
    if tools.get(name).is_some() {
        return None;
    }
    let spec = answer_spec(Schema::new(schema?.as_ref().clone()));
    let answer = FinalAnswer::<Value> { place: Arc::default(), spec: Arc::new(spec), whole: true };
    tools.clone().with(answer).ok()
}

/// How an agent that is a tool gives a typed answer: told from its run, so in any process.
#[derive(Clone, Debug)]
pub(super) struct Answering {
    whole: bool,
    output: Value,
}

impl Answering {
    /// That of a `T`, and the tool that takes it.
    pub(super) fn of<T: DeserializeOwned + JsonSchema + Send + 'static>() -> (Self, impl DynTool) {
        let (spec, whole) = spec::<T>();
        let output = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().into();
        let place = Wanted::<T>::new().place;
        (Self { whole, output }, FinalAnswer { place, spec: Arc::new(spec), whole })
    }

    pub(super) const NAME: &'static str = Wanted::<Value>::NAME;
    pub(super) const REMINDER: &'static str = Wanted::<Value>::REMINDER;

    /// The schema of the answer.
    pub(super) fn output(&self) -> &Value {
        &self.output
    }

    /// The answer that was given in the last turn of `run`, as JSON.
    pub(super) fn given(&self, run: &Run) -> Option<String> {
        let is_it = |call: &&Call| call.name == Self::NAME && call.result().is_some_and(CallResult::is_success);
        let text = &run.current().iter().rev().find(is_it)?.arguments().text;
        if self.whole {
            return Some(text.to_string());
        }
        let mut given: Value = serde_json::from_str(text).ok()?;
        given.get_mut("answer").map(|answer| answer.take().to_string())
    }
}

struct FinalAnswer<T> {
    place: Arc<Mutex<Option<T>>>,
    spec: Arc<ToolSpec>,
    /// Whether the arguments are the answer; otherwise it is one of them.
    whole: bool,
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> DynTool for FinalAnswer<T> {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn start<'a>(&'a self, arguments: &'a str, _cx: &'a Context) -> Starting<'a> {
        let started = self.read(arguments).map_err(CallError::from).map(|answer| Started {
            needs_approval: false,
            normalized: None,
            touches: None,
            work: Box::pin(async move {
                *lock(&self.place) = Some(answer);
                Ok(Output::json(&"accepted")?)
            }),
        });
        Starting::read(started)
    }

    fn answer(&self, _output: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}

impl<T: DeserializeOwned> FinalAnswer<T> {
    /// Reads the answer, which fits all of its schema.
    fn read(&self, arguments: &str) -> Result<T, Rejection> {
        let validator = Validator::compile(self.spec.input.neutral()).ok();
        let mut value = fitting(arguments, validator.as_ref())?;
        if !self.whole {
            value = value.get_mut("answer").map(Value::take).unwrap_or_default();
        }
        serde_json::from_value(value).map_err(|error| {
            let expected = excerpt(&error.to_string(), 300);
            Rejection::one(Problem::new("", ProblemKind::Invalid, expected))
        })
    }
}

/// The tool that takes a `T`, and whether its arguments are the `T`. Providers want an object, so anything else is put
/// into one.
fn spec<T: JsonSchema>() -> (ToolSpec, bool) {
    let mut schema = Value::from(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>());
    let whole = schema["type"] == "object";
    if !whole {
        let definitions = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
        schema = serde_json::json!({
            "type": "object",
            "properties": { "answer": schema },
            "required": ["answer"],
            "additionalProperties": false
        });
        if let Some(definitions) = definitions {
            schema["$defs"] = definitions;
        }
    }
    (answer_spec(Schema::from_schemars(schema)), whole)
}

fn answer_spec(input: Schema) -> ToolSpec {
    ToolSpec {
        name: "final_answer".to_owned(),
        title: None,
        description: "Gives the final answer. Call it once, when everything else is done.".to_owned(),
        input: Arc::new(input),
        output: None,
        traits: Traits { effect: Effect::ReadOnly, ..Traits::default() },
    }
}

fn lock<T>(place: &Mutex<Option<T>>) -> std::sync::MutexGuard<'_, Option<T>> {
    // A poisoned lock only means that another call panicked; the place itself is always whole.
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
