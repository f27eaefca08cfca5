//! Models without a network: one that returns turns from a list, and one that is a function.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use super::{Delta, Model, ModelError, ModelErrorKind, ModelSettings, Request, ToolChoice, Turn};
use crate::message::Message;
use crate::sync::lock;

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
/// assert!(model.requests().is_empty());
/// ```
///
/// When the list has run out, the next turn fails with [`ModelErrorKind::Script`].
///
/// Clones share the list and the requests, so a test that keeps a clone can read the requests.
#[derive(Clone, Debug, Default)]
pub struct ScriptedModel {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    answers: VecDeque<ScriptedTurn>,
    asked: Vec<OwnedRequest>,
}

impl ScriptedModel {
    /// Creates a model that returns `answers` in their order.
    pub fn new<A: Into<ScriptedTurn>>(answers: impl IntoIterator<Item = A>) -> Self {
        let answers = answers.into_iter().map(Into::into).collect();
        Self { state: Arc::new(Mutex::new(State { answers, asked: Vec::new() })) }
    }

    /// Adds an answer at the end of the list.
    pub fn then(self, answer: impl Into<ScriptedTurn>) -> Self {
        lock(&self.state).answers.push_back(answer.into());
        self
    }

    /// Returns the requests so far, oldest first.
    pub fn requests(&self) -> Vec<OwnedRequest> {
        lock(&self.state).asked.clone()
    }

    /// Returns the number of answers that are left.
    pub fn left(&self) -> usize {
        lock(&self.state).answers.len()
    }

    fn next(&self, request: Request<'_>) -> Vec<Result<Delta, ModelError>> {
        let mut state = lock(&self.state);
        state.asked.push(OwnedRequest::from(request));
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
pub struct OwnedRequest {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The names of the tools on offer, in their order.
    pub tools: Vec<String>,
    /// The tool choice: the model may, must or must not call a tool.
    pub tool_choice: ToolChoice,
    /// The sampling settings, and the limit on size.
    pub settings: ModelSettings,
    /// The tool whose arguments are the run's typed answer.
    pub answer_tool: Option<String>,
}

impl From<Request<'_>> for OwnedRequest {
    fn from(request: Request<'_>) -> Self {
        Self {
            messages: request.messages.to_vec(),
            tools: request.tools.specs().iter().map(|spec| spec.name.clone()).collect(),
            tool_choice: request.tool_choice.clone(),
            settings: request.settings.clone(),
            answer_tool: request.answer_tool.map(str::to_owned),
        }
    }
}

/// The stream of one turn of a hand-made model: a [`Turn`], single deltas, an error, or deltas followed by an error.
#[derive(Debug)]
pub struct ScriptedTurn(Vec<Result<Delta, ModelError>>);

impl ScriptedTurn {
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

impl From<Turn> for ScriptedTurn {
    fn from(turn: Turn) -> Self {
        turn.into_deltas().into()
    }
}

impl From<Vec<Delta>> for ScriptedTurn {
    fn from(deltas: Vec<Delta>) -> Self {
        Self(deltas.into_iter().map(Ok).collect())
    }
}

impl From<Vec<Result<Delta, ModelError>>> for ScriptedTurn {
    fn from(deltas: Vec<Result<Delta, ModelError>>) -> Self {
        Self(deltas)
    }
}

impl From<ModelError> for ScriptedTurn {
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
///
/// Clones share the function.
#[derive(Clone)]
pub struct FunctionModel {
    function: Function,
    turns: Arc<AtomicUsize>,
}

type Function = Arc<dyn Fn(Request<'_>, usize) -> BoxStream<'static, Result<Delta, ModelError>> + Send + Sync>;

impl FunctionModel {
    /// Creates a model whose turn `function` returns for the request: a [`Turn`](super::Turn), deltas or an error.
    pub fn new<A: Into<ScriptedTurn>>(function: impl Fn(Request<'_>) -> A + Send + Sync + 'static) -> Self {
        Self::made(move |request, turn| stream::iter(function(request).into().deltas(turn)).boxed())
    }

    /// Creates a model whose turn is the stream that `function` returns for the request; the stream may be slow.
    pub fn streaming<S>(function: impl Fn(OwnedRequest) -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = Result<Delta, ModelError>> + Send + 'static,
    {
        Self::made(move |request, _| function(OwnedRequest::from(request)).boxed())
    }

    fn made(
        function: impl Fn(Request<'_>, usize) -> BoxStream<'static, Result<Delta, ModelError>> + Send + Sync + 'static,
    ) -> Self {
        Self { function: Arc::new(function), turns: Arc::default() }
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
