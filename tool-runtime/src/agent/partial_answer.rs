//! A typed answer while the model still gives it.

use std::{fmt, marker::PhantomData};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::agent::{EventKind, RunEvent, typed::FinalAnswer};
use crate::json::IncrementalJson;
use crate::run::CallId;

/// A view of a typed answer ([`Ask::typed`](super::Ask::typed)) while the model still gives it.
///
/// It reads the events of a [`RunStream`](super::RunStream), and follows the model's last answer: the arguments of a call, or a text
/// that is JSON. Like a [`PartialInput`](crate::tool::PartialInput), the answer so far is not checked, and texts in it may grow.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use tool_runtime::{Agent, agent::PartialAnswer, model::{ScriptedModel, Turn}};
///
/// #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
/// struct Whale {
///     name: String,
///     meters: f64,
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let whales = r#"{"answer": [{"name": "Blue", "meters": 25.5}, {"name": "Orca", "meters": 7.5}]}"#;
/// let session = Agent::new(ScriptedModel::new([Turn::call("final_answer", whales)])).session();
/// let mut run = session.stream_with(|session| session.ask("Name two whales.").typed::<Vec<Whale>>().into_future());
/// let mut answer = PartialAnswer::<Vec<Whale>>::new();
/// while let Some(event) = run.next().await {
///     if let Some(whales) = answer.read(&event) {
///         println!("{whales:?}");
///     }
/// }
/// assert_eq!(run.finish().await.unwrap().value.len(), 2);
/// # });
/// ```
pub struct PartialAnswer<T> {
    /// Set if an object is the answer; otherwise the answer is one of its fields.
    is_whole: bool,
    /// The call that gives the answer, if it is not a text.
    call: Option<CallId>,
    json: IncrementalJson,
    answer: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + JsonSchema> PartialAnswer<T> {
    /// Creates the view of an answer that has not begun.
    pub fn new() -> Self {
        let is_whole = FinalAnswer::of::<T>().is_whole();
        Self { is_whole, call: None, json: IncrementalJson::new(), answer: PhantomData }
    }

    /// Reads the next event of the run. Returns the answer so far if the event adds to it, and the answer reads as a `T`.
    ///
    /// If the last element of a list does not read as one yet, the list comes without it. Each answer is read from its beginning.
    pub fn read(&mut self, event: &RunEvent) -> Option<T> {
        if !event.calls.is_empty() {
            return None;
        }
        let piece = match &event.kind {
            // Of a turn that another process drives, only the step and the failure are reported.
            EventKind::StepStarted { .. } | EventKind::ModelAsked { .. } | EventKind::TurnFailed { .. } => {
                return self.begin(None);
            }
            EventKind::CallAnnounced { id, name } if name == FinalAnswer::NAME => return self.begin(Some(id.clone())),
            EventKind::CallArguments { id, text } if self.call.as_ref() == Some(id) => text,
            EventKind::Text(text) if self.call.is_none() => text,
            _ => return None,
        };
        // A text that is not JSON is no answer.
        self.json.feed_str(piece).ok()?;
        let answer = self.value()?;
        T::deserialize(answer).ok().or_else(|| {
            let (_, complete) = answer.as_array()?.split_last()?;
            T::deserialize(Value::Array(complete.to_vec())).ok()
        })
    }

    /// Returns the answer so far as JSON, or `None` if it has not begun.
    pub fn value(&self) -> Option<&Value> {
        let value = self.json.value()?;
        if self.is_whole {
            return Some(value);
        }
        let answer = value.get("answer");
        // A text may be the answer alone. The name of its first field may still become `answer`.
        let is_alone = self.call.is_none() && (!value.is_object() || self.json.is_complete());
        answer.or_else(|| is_alone.then_some(value))
    }

    fn begin(&mut self, call: Option<CallId>) -> Option<T> {
        (self.call, self.json) = (call, IncrementalJson::new());
        None
    }
}

impl<T: DeserializeOwned + JsonSchema> Default for PartialAnswer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for PartialAnswer<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("PartialAnswer").field(&self.json.value()).finish()
    }
}
