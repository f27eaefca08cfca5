//! Final answers of a requested type: a tool whose arguments are the answer.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::feedback::Rejection;
use crate::message::Message;
use crate::run::{Call, CallResult, Phase, Run};
use crate::schema::{CompiledSchema, Schema};
use crate::tool::{
    AcceptedCall, CallError, Context, Effect, ErasedTool, Output, PrepareFuture, ToolSpec, read_typed, read_valid,
};
use crate::toolset::Toolset;

/// The tool that accepts the final answer of a run. The answer is read from the run, so any process can read it.
#[derive(Clone)]
pub struct FinalAnswer {
    spec: Arc<ToolSpec>,
    /// Set if the arguments are the answer; otherwise the answer is one of them.
    is_whole: bool,
    /// Fails if the answer, at a path and with its JSON, is not of the requested type.
    check: fn(&str, &str) -> Result<(), Rejection>,
    /// The application's check of an answer of the requested type, given as JSON.
    pub own: Option<Arc<OwnCheck>>,
}

/// A check of an answer, given as JSON or as a text.
pub type OwnCheck = dyn Fn(String, Context) -> BoxFuture<'static, Result<(), Rejection>> + Send + Sync;

impl FinalAnswer {
    pub const NAME: &'static str = "final_answer";

    /// Creates the tool that accepts a `T`. Providers require an object, so other types are wrapped in one.
    pub fn of<T: DeserializeOwned + JsonSchema>() -> Self {
        let mut schema = schema_of::<T>();
        let is_whole = schema["type"] == "object";
        if !is_whole {
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
        Self::new(Schema::from_schemars(schema), is_whole, |path, answer| read_typed::<T>(path, answer).map(drop))
    }

    fn new(input: Schema, is_whole: bool, check: fn(&str, &str) -> Result<(), Rejection>) -> Self {
        let description = "Gives the final answer. Call it once, when everything else is done.";
        let mut spec = ToolSpec::new(Self::NAME, description, input);
        spec.options.effect = Effect::ReadOnly;
        Self { spec: Arc::new(spec), is_whole, check, own: None }
    }

    /// Returns whether the arguments are the answer. Otherwise the answer is one of them, called `answer`.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the schema of the tool's arguments, which the run stores.
    pub fn schema(&self) -> &Value {
        self.spec.input.neutral()
    }

    /// Returns the answer in the last turn of `run`, as JSON, if there is one: that of a call, or a text that is such JSON.
    pub fn given(&self, run: &Run) -> Option<String> {
        let is_it = |call: &&Call| call.name == Self::NAME && call.result().is_some_and(CallResult::is_success);
        let Some(call) = run.current_calls().iter().rev().find(is_it) else { return self.read_text(run) };
        let text = &call.arguments().text;
        if self.is_whole {
            return Some(text.to_string());
        }
        Some(self.answer_in(serde_json::from_str(text).ok()?).to_string())
    }

    /// Returns the answer that a run has given as its text.
    fn read_text(&self, run: &Run) -> Option<String> {
        if run.phase() != Phase::Finished || !run.current_calls().is_empty() {
            return None;
        }
        self.accept_text(&run.last_text())
    }

    /// Returns the answer in a text that is its JSON.
    pub fn accept_text(&self, text: &str) -> Option<String> {
        Some(self.read_json(without_fence(text)).ok()?.to_string())
    }

    /// Returns the problems of the text with which `run` has finished, if it is JSON but not the answer.
    pub fn problems_in_text(&self, run: &Run) -> Option<Rejection> {
        let text = run.last_text();
        let is_given = run.phase() == Phase::Finished && run.current_calls().is_empty() && is_json(&text);
        is_given.then(|| self.read_json(without_fence(&text)).err()).flatten()
    }

    fn read_json(&self, text: &str) -> Result<Value, Rejection> {
        match self.accept(text) {
            Err(problems) if !self.is_whole => {
                let has_answer = serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("answer").is_some());
                if has_answer { Err(problems) } else { self.accept(&format!(r#"{{"answer":{text}}}"#)) }
            }
            read => read,
        }
    }

    /// Returns the reason why the last answer since the last prompt of `run` was refused, or `None` if it was not.
    pub fn refusal(run: &Run) -> Option<String> {
        let since = run.prompts().iter().rfind(|prompt| !prompt.steers).map_or(0, |prompt| prompt.at as usize);
        let last = run.messages().get(since..)?.iter().rev().find_map(|message| match message {
            Message::Tool(answer) if run.is_final(&answer.tool) => Some(answer.call_id.as_str()),
            _ => None,
        });
        let call = run.call(&last?.into())?;
        let result = call.result().filter(|result| !result.is_success())?;
        Some(result.for_people(&call.name, call.extent()))
    }

    fn answer_in(&self, mut arguments: Value) -> Value {
        if self.is_whole { arguments } else { arguments.get_mut("answer").map(Value::take).unwrap_or_default() }
    }

    /// Returns the answer in the arguments. Checks that these fit the whole schema, and that the answer is of the requested type.
    fn accept(&self, arguments: &str) -> Result<Value, Rejection> {
        let compiled = CompiledSchema::compile(self.schema()).ok();
        let answer = self.answer_in(read_valid(arguments, compiled.as_ref())?);
        (self.check)(if self.is_whole { "" } else { "/answer" }, &answer.to_string())?;
        Ok(answer)
    }
}

/// Returns the message that sends the model back after a text that is no answer.
pub fn not_accepted(problem: &Rejection) -> String {
    format!("Your answer was not accepted: {problem}")
}

/// The messages that sent a model back which had finished without an answer.
#[derive(Debug, Default)]
pub struct Reminders {
    sent: u32,
}

impl Reminders {
    /// Returns the next message to the model of `run`, whose answer has this problem; `None` if it gets none. Some models answer in
    /// text although there is a tool for the answer, so each gets one.
    pub fn next(&mut self, run: &Run, problem: Option<&Rejection>) -> Option<String> {
        let most = if problem.is_some() { run.options().limits.answer_retries.max(1) } else { 1 };
        if run.phase() != Phase::Finished || self.sent >= most {
            return None;
        }
        self.sent += 1;
        Some(problem.map_or_else(|| reminder(run.final_tools()), not_accepted))
    }
}

fn reminder(final_tools: &[Arc<str>]) -> String {
    let names: Vec<String> = final_tools.iter().map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => "Give the answer.".to_owned(),
        names => format!("Give the answer by calling {}.", names.join(" or ")),
    }
}

/// Returns whether a text is JSON, apart from a code fence around it.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(without_fence(text)).is_ok()
}

/// Returns a text without the code fence around it, which models add to JSON.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}

/// Returns `tools` with a tool that accepts the answer that `run` waits for, for processes that do not know the answer's type.
/// Returns `None` if `run` waits for no such answer, or `tools` have that tool already.
pub fn with_answer(tools: &Toolset, run: &Run) -> Option<Toolset> {
    let schema = run.answer_schema()?;
    if run.final_tools().iter().any(|name| tools.get(name).is_some()) {
        return None;
    }
    tools.clone().with(FinalAnswer::new(Schema::new(schema.as_ref().clone()), true, |_, _| Ok(()))).ok()
}

/// Returns the schema of `T` in the form that models and other tools use.
pub fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().into()
}

impl ErasedTool for FinalAnswer {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        let work = || AcceptedCall::new(false, Box::pin(async { Ok(Output::json(&"accepted")?) }));
        match (self.accept(arguments), &self.own) {
            (Err(problems), _) => PrepareFuture::read(Err(problems.into())),
            (Ok(_), None) => PrepareFuture::read(Ok(work())),
            (Ok(answer), Some(own)) => {
                let checked = own(answer.to_string(), cx.clone());
                PrepareFuture::asking(async move {
                    checked.await?;
                    Ok(work())
                })
            }
        }
    }

    fn read_external_output(&self, _output: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}
