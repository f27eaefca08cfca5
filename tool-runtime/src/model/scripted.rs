//! A model that says what it was told to say.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures_util::stream::{self, BoxStream, StreamExt};

use super::{Delta, Model, ModelError, ModelErrorKind, Request, Settings, ToolChoice, Turn};
use crate::message::Message;

/// A model that gives turns from a list, for tests and examples. It keeps what it was asked.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::model::{ScriptedModel, Turn};
///
/// let model = ScriptedModel::new([
///     Turn::call("weather", json!({"city": "Oslo"})),
///     Turn::say("It rains."),
/// ]);
/// assert!(model.asked().is_empty());
/// ```
///
/// When the list has run out, the next turn fails with [`ModelErrorKind::Script`].
#[derive(Debug, Default)]
pub struct ScriptedModel {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    answers: VecDeque<ModelAnswer>,
    asked: Vec<Asked>,
}

impl ScriptedModel {
    /// A model that gives `answers` in their order.
    pub fn new<A: Into<ModelAnswer>>(answers: impl IntoIterator<Item = A>) -> Self {
        let answers = answers.into_iter().map(Into::into).collect();
        Self { state: Mutex::new(State { answers, asked: Vec::new() }) }
    }

    /// Adds an answer at the end of the list.
    pub fn then(self, answer: impl Into<ModelAnswer>) -> Self {
        self.state().answers.push_back(answer.into());
        self
    }

    /// Returns the requests so far, oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    /// How many answers are left.
    pub fn left(&self) -> usize {
        self.state().answers.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that hold the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, request: Request<'_>) -> Vec<Result<Delta, ModelError>> {
        let mut state = self.state();
        state.asked.push(Asked::from(request));
        let turn = state.asked.len();
        let Some(answer) = state.answers.pop_front() else {
            let message = format!("the script holds no answer to request {turn}: it has run out");
            return vec![Err(ModelError::new(ModelErrorKind::Script, message))];
        };
        answer.deltas(turn)
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        // Asked when first polled, as a model over a network is.
        stream::once(async move { stream::iter(self.next(request)) }).flatten().boxed()
    }
}

/// A request that a model got, kept for assertions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Asked {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The names of the tools on offer, in their order.
    pub tools: Vec<String>,
    /// The tool choice: the model may, must or must not call a tool.
    pub tool_choice: ToolChoice,
    /// Sampling and size.
    pub settings: Settings,
}

impl From<Request<'_>> for Asked {
    fn from(request: Request<'_>) -> Self {
        Self {
            messages: request.messages.to_vec(),
            tools: request.tools.specs().iter().map(|spec| spec.name.clone()).collect(),
            tool_choice: request.tool_choice.clone(),
            settings: request.settings.clone(),
        }
    }
}

/// The stream of a model made by hand in one turn: a [`Turn`], the single deltas, an error, or deltas and then an error.
#[derive(Debug)]
pub struct ModelAnswer(Vec<Result<Delta, ModelError>>);

impl ModelAnswer {
    /// The deltas of the answer to the `turn`th request, every call with an id.
    pub(super) fn deltas(mut self, turn: usize) -> Vec<Result<Delta, ModelError>> {
        for delta in &mut self.0 {
            if let Ok(Delta::CallStart { index, id, .. }) = delta
                && id.is_empty()
            {
                *id = format!("call_{turn}_{index}");
            }
        }
        self.0
    }
}

impl From<Turn> for ModelAnswer {
    fn from(turn: Turn) -> Self {
        turn.into_deltas().into()
    }
}

impl From<Vec<Delta>> for ModelAnswer {
    fn from(deltas: Vec<Delta>) -> Self {
        Self(deltas.into_iter().map(Ok).collect())
    }
}

impl From<Vec<Result<Delta, ModelError>>> for ModelAnswer {
    fn from(deltas: Vec<Result<Delta, ModelError>>) -> Self {
        Self(deltas)
    }
}

impl From<ModelError> for ModelAnswer {
    fn from(error: ModelError) -> Self {
        Self(vec![Err(error)])
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{TryStreamExt, future};

    use super::*;
    use crate::toolset::ToolList;

    fn play(model: &impl Model, text: &str) -> Result<Turn, ModelError> {
        let (messages, tools) = ([Message::user(text)], ToolList::default());
        let fold = model.stream(Request::new(&messages, &tools)).try_fold(Turn::default(), |mut turn, delta| {
            turn.push(delta);
            future::ok(turn)
        });
        futures_util::FutureExt::now_or_never(fold).expect("a script never waits")
    }

    #[test]
    fn gives_its_answers_in_order_and_then_fails() {
        let model = ScriptedModel::new([Turn::call("a", "{}").then_call("a", "{}")])
            .then(Turn::call("a", "{}"))
            .then(ModelError::new(ModelErrorKind::Unavailable, "down"));
        let ids = |turn: Turn| turn.calls().map(|call| call.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(play(&model, "1").unwrap()), ["call_1_0", "call_1_1"]);
        assert_eq!(ids(play(&model, "2").unwrap()), ["call_2_0"]);
        assert_eq!(play(&model, "3").unwrap_err().kind(), ModelErrorKind::Unavailable);
        assert_eq!(model.left(), 0);
        let error = play(&model, "4").unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Script);
        assert_eq!(error.to_string(), "the script holds no answer to request 4: it has run out");
        let asked: Vec<_> = model.asked().into_iter().map(|asked| asked.messages).collect();
        assert_eq!(asked, ["1", "2", "3", "4"].map(|text| vec![Message::user(text)]));
    }
}
