//! Guards: checks of a prompt beside the model's first turn, and checks of the model's answer in text.

use std::{fmt, future::pending, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};

use crate::agent::{Agent, ask::AnswerProblem};
use crate::message::{Message, Part};
use crate::run::Run;
use crate::tool::Context;

/// The time limit of a guard and of a check, if it sets none.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(30);

type PromptCheck = dyn Fn(Vec<Part>, Context) -> BoxFuture<'static, Result<(), String>> + Send + Sync;
type TextCheck = dyn Fn(String, Context) -> BoxFuture<'static, Result<(), AnswerProblem>> + Send + Sync;

/// A check of a prompt, which goes on beside the model's first turn.
///
/// The function receives the parts of the prompt and the run's context, which has the principal, the messages and the
/// application's values. An error blocks the run: the model's turn and all calls end, the run stops with
/// [`StopReason::Blocked`](crate::run::StopReason::Blocked), and the method that drives it fails with
/// [`AgentError::Blocked`](crate::AgentError::Blocked). Both have the guard's name and the reason.
///
/// Messages that steer the run are checked like prompts, beside the turn that they join.
///
/// The calls of the first turn wait until every guard has allowed the prompt, unless a guard is
/// [`beside_calls`](Guard::beside_calls). The text of the model is reported meanwhile; the end of the answer waits in either case.
/// A guard that panics, or does not answer within its [time limit](Guard::time_limit), blocks the run. If several block it, the
/// first one is named.
///
/// Guards run in the process that drives the run, wherever that is, again if another process repeats the turn. Calls from outside
/// ([`Session::call`](super::Session::call)) have no prompt to check.
///
/// ```
/// use tool_runtime::{Agent, AgentError, agent::Guard, model::{ScriptedModel, Turn}};
///
/// let topic = Guard::new("topic", async |prompt, _cx| {
///     let asks_for_homework = prompt.iter().filter_map(|part| part.as_text()).any(|text| text.contains("homework"));
///     if asks_for_homework { Err("no homework") } else { Ok(()) }
/// });
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let agent = Agent::new(ScriptedModel::new([Turn::say("x is 2.")])).guard(topic);
/// let Err(AgentError::Blocked { by, reason }) = agent.run("Do my homework: 2x = 4.").await else { panic!("it was allowed") };
/// assert_eq!((&*by, &*reason), ("topic", "no homework"));
/// # });
/// ```
#[derive(Clone)]
pub struct Guard {
    name: Arc<str>,
    check: Arc<PromptCheck>,
    beside_calls: bool,
    time_limit: Duration,
}

impl Guard {
    /// Creates a guard called `name` from a function that fails with the reason to block the run.
    pub fn new<F, R, E>(name: impl Into<Arc<str>>, check: F) -> Self
    where
        F: Fn(Vec<Part>, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<String>,
    {
        let check = move |prompt, cx| check(prompt, cx).map(|done| done.map_err(Into::into)).boxed();
        Self { name: name.into(), check: Arc::new(check), beside_calls: false, time_limit: DEFAULT_TIME_LIMIT }
    }

    /// Lets the calls of the first turn begin before the guard has answered. The next request to the model, and the answer, wait for
    /// it. If the guard blocks the run, those calls are cancelled.
    pub fn beside_calls(mut self) -> Self {
        self.beside_calls = true;
        self
    }

    /// Sets the time after which a guard without an answer blocks the run. The default is 30 seconds.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, beside_calls, time_limit, .. } = self;
        out.debug_struct("Guard")
            .field("name", name)
            .field("beside_calls", beside_calls)
            .field("time_limit", time_limit)
            .finish_non_exhaustive()
    }
}

/// A check of the model's answer in text ([`Agent::check_answer`]).
#[derive(Clone)]
pub struct AnswerCheck {
    name: Arc<str>,
    check: Arc<TextCheck>,
    /// Set if the check is of a typed answer that the model gives as JSON text.
    pub is_typed: bool,
}

impl AnswerCheck {
    pub fn new<F, R>(name: Arc<str>, check: F) -> Self
    where
        F: Fn(String, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), AnswerProblem>> + Send + 'static,
    {
        Self { name, check: Arc::new(move |text, cx| check(text, cx).boxed()), is_typed: false }
    }
}

/// The answer of a guard, or of the checks of an answer.
pub struct Verdict {
    /// The name of the guard or check.
    pub by: Arc<str>,
    /// Set if the calls of the first turn wait for it.
    holds_calls: bool,
    pub outcome: Result<(), AnswerProblem>,
}

/// The guards and checks that have not answered yet.
#[derive(Default)]
pub struct Guards {
    running: FuturesUnordered<BoxFuture<'static, Verdict>>,
    /// The number of those for which calls wait.
    holding: usize,
    /// The number of prompts of the run that were checked, or need not be.
    guarded: Option<usize>,
}

impl Guards {
    /// Starts the guards of `agent` if the run asks its model for the first time since a prompt, or since a message that steers it.
    pub fn start(&mut self, agent: &Agent, run: &Run, cx: &Context) {
        if agent.setup.guards.is_empty() {
            return;
        }
        let from = self.guarded.filter(|known| *known <= run.prompts().len());
        let prompt = prompts_since(run, from.unwrap_or_else(|| first_new_prompt(run)));
        self.guarded = Some(run.prompts().len());
        self.ask(&agent.setup.guards, &prompt, cx);
    }

    /// Starts the guards of an agent that goes on with a prompt which another one had begun to answer.
    pub fn check_again(&mut self, guards: &[Guard], run: &Run, cx: &Context) {
        let from = run.prompts().iter().rposition(|prompt| !prompt.steers).unwrap_or(0);
        self.ask(guards, &prompts_since(run, from), cx);
    }

    fn ask(&mut self, guards: &[Guard], prompt: &[Part], cx: &Context) {
        if prompt.is_empty() {
            return;
        }
        for guard in guards {
            let Guard { name, check, beside_calls, time_limit } = guard.clone();
            let (prompt, cx) = (prompt.to_vec(), cx.clone());
            let outcome = within(time_limit, async move { check(prompt, cx).await.map_err(AnswerProblem::Refuse) });
            let holds_calls = !beside_calls;
            self.holding += usize::from(holds_calls);
            self.running.push(outcome.map(move |outcome| Verdict { by: name, holds_calls, outcome }).boxed());
        }
    }

    /// Starts the checks of an answer in text, one after the other.
    pub fn check_answer(&mut self, checks: Vec<AnswerCheck>, text: String, cx: &Context) {
        let cx = cx.clone();
        let checked = async move {
            let mut by: Arc<str> = Arc::default();
            for AnswerCheck { name, check, .. } in checks {
                by = name;
                let (text, cx) = (text.clone(), cx.clone());
                let outcome = within(DEFAULT_TIME_LIMIT, async move { check(text, cx).await }).await;
                if outcome.is_err() {
                    return Verdict { by, holds_calls: false, outcome };
                }
            }
            Verdict { by, holds_calls: false, outcome: Ok(()) }
        };
        self.running.push(checked.boxed());
    }

    /// Returns whether every guard and check has answered.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns whether the calls of the first turn wait.
    pub fn hold_calls(&self) -> bool {
        self.holding > 0
    }

    /// Drops those that have not answered. The next turn of the same prompt asks the guards again.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            *self = Self::default();
        }
    }

    /// Waits for the next answer. Cancel safe.
    pub async fn next(&mut self) -> Verdict {
        match self.running.next().await {
            Some(verdict) => {
                self.holding -= usize::from(verdict.holds_calls);
                verdict
            }
            None => pending().await,
        }
    }
}

/// Returns the number of the first prompt that the present turn is the first one to see: the last prompt, if this is its first step.
fn first_new_prompt(run: &Run) -> usize {
    let (prompts, messages) = (run.prompts(), run.messages());
    if run.steps() <= 1 {
        return prompts.iter().rposition(|prompt| !prompt.steers).unwrap_or(0);
    }
    let last = messages.iter().rposition(|message| !matches!(message, Message::User { .. })).unwrap_or(0);
    prompts.partition_point(|prompt| prompt.at as usize <= last)
}

/// Returns the parts of the prompts from the number `from` on. A conversation from elsewhere has no prompts, so its last message
/// counts.
fn prompts_since(run: &Run, from: usize) -> Vec<Part> {
    let content = |at: usize| match run.messages().get(at) {
        Some(Message::User { content }) => content.clone(),
        _ => Vec::new(),
    };
    if run.prompts().is_empty() && run.steps() <= 1 {
        return content(run.messages().len().saturating_sub(1));
    }
    run.prompts()
        .iter()
        .skip(from)
        .filter(|prompt| !prompt.corrects)
        .flat_map(|prompt| content(prompt.at as usize))
        .collect()
}

/// Waits for the answer of a check. A panic, and no answer within `limit`, refuse what is checked.
pub async fn within(
    limit: Duration,
    check: impl Future<Output = Result<(), AnswerProblem>>,
) -> Result<(), AnswerProblem> {
    match tokio::time::timeout(limit, AssertUnwindSafe(check).catch_unwind()).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(AnswerProblem::refuse("the check panicked")),
        Err(_) => Err(AnswerProblem::refuse(format!("no answer within {} s", limit.as_secs_f64()))),
    }
}
