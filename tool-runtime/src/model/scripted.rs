//! Models without a network: one that returns turns from a list, and one that is a function.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use super::{Delta, Model, ModelError, ModelErrorKind, Request, Settings, ToolChoice, Turn};
use crate::message::Message;

/// A model that returns turns from a list, for tests and examples. It keeps the requests that it got.
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
    /// Creates a model that returns `answers` in their order.
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

    /// Returns the number of answers that are left.
    pub fn left(&self) -> usize {
        self.state().answers.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that hold the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, request: Request<'_>) -> Vec<Result<Delta, ModelError>> {
        let mut state = self.state();
        state.asked.push(Asked::from(request));
        let turn = state.asked.len();
        let Some(answer) = state.answers.pop_front() else {
            let message = format!("the script has no answer to request {turn}");
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
        // The model is asked when the stream is first polled, as with a model over a network.
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
    /// The sampling settings, and the limit on size.
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

/// The stream of one turn of a hand-made model: a [`Turn`], single deltas, an error, or deltas followed by an error.
#[derive(Debug)]
pub struct ModelAnswer(Vec<Result<Delta, ModelError>>);

impl ModelAnswer {
    /// Returns the deltas of the answer to request number `turn`, and gives every call an id.
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

/// A model that is a function of the request, for tests, examples and rules that need no language model.
///
/// ```
/// use tool_runtime::model::{FunctionModel, Turn};
///
/// let echo = FunctionModel::new(|request| Turn::say(format!("{} messages", request.messages.len())));
/// # let _ = echo;
/// ```
pub struct FunctionModel {
    function: Function,
    turns: AtomicUsize,
}

type Function = Box<dyn Fn(Request<'_>, usize) -> BoxStream<'static, Result<Delta, ModelError>> + Send + Sync>;

impl FunctionModel {
    /// Creates a model whose turn `function` returns for the request: a [`Turn`](super::Turn), deltas or an error.
    pub fn new<A: Into<ModelAnswer>>(function: impl Fn(Request<'_>) -> A + Send + Sync + 'static) -> Self {
        Self::made(move |request, turn| stream::iter(function(request).into().deltas(turn)).boxed())
    }

    /// Creates a model whose turn is the stream that `function` returns for the request; the stream may be slow.
    pub fn streaming<S>(function: impl Fn(Asked) -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = Result<Delta, ModelError>> + Send + 'static,
    {
        Self::made(move |request, _| function(Asked::from(request)).boxed())
    }

    fn made(
        function: impl Fn(Request<'_>, usize) -> BoxStream<'static, Result<Delta, ModelError>> + Send + Sync + 'static,
    ) -> Self {
        Self { function: Box::new(function), turns: AtomicUsize::new(0) }
    }
}

impl Model for FunctionModel {
    fn name(&self) -> &'static str {
        "function"
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let called = async move {
            let turn = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
            (self.function)(request, turn)
        };
        stream::once(called).flatten().boxed()
    }
}

impl fmt::Debug for FunctionModel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FunctionModel").field("turns", &self.turns).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, TryStreamExt};

    use super::*;
    use crate::message::Message;
    use crate::model::Turn;
    use crate::toolset::ToolList;

    fn deltas(model: &impl Model, texts: &[&str]) -> Result<Vec<Delta>, ModelError> {
        let messages: Vec<Message> = texts.iter().map(|text| Message::user(*text)).collect();
        let tools = ToolList::default();
        let all = model.stream(Request::new(&messages, &tools)).try_collect();
        all.now_or_never().expect("these models never wait")
    }

    fn play(model: &impl Model, text: &str) -> Result<Turn, ModelError> {
        let mut turn = Turn::default();
        deltas(model, &[text])?.into_iter().for_each(|delta| turn.push(delta));
        Ok(turn)
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
        assert_eq!(error.to_string(), "the script has no answer to request 4");
        let asked: Vec<_> = model.asked().into_iter().map(|asked| asked.messages).collect();
        assert_eq!(asked, ["1", "2", "3", "4"].map(|text| vec![Message::user(text)]));
    }

    #[test]
    fn answers_from_the_request() {
        let model = FunctionModel::new(|request| Turn::call("count", request.messages.len()));
        let first = deltas(&model, &["a", "b"]).unwrap();
        assert_eq!(first[0], Delta::CallStart { index: 0, id: "call_1_0".into(), name: "count".into() });
        assert_eq!(first[1], Delta::CallArguments { index: 0, text: "2".into() });
        assert_ne!(deltas(&model, &["a", "b"]).unwrap()[0], first[0], "each turn has ids of its own");
    }

    #[test]
    fn streams_from_an_owned_request() {
        let model = FunctionModel::streaming(|asked| {
            stream::iter(asked.messages).map(|message| Ok(Delta::Text(format!("{message:?}"))))
        });
        assert_eq!(deltas(&model, &["a", "b"]).unwrap().len(), 2);
    }
}
