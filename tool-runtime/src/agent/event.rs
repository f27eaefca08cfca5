//! The events of a run, and their receivers: the observer, and the hooks before it.

use std::{
    error::Error,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, TryLockError},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::agent::{Agent, AgentError, observers::report};
use crate::json::IncrementalJson;
use crate::message::ProviderPart;
use crate::model::{FinishReason, ToolChoice, Usage};
use crate::run::{Call, CallId, CallResult, Decision, Interrupt, InterruptId, Phase, Principal, Prompt, Refusal, Run};
use crate::tool::Progress;
use tool_schema::json::{Path, ValueChange};

/// An event of a run. An event that changes the run is reported after the change is in the run's log.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The runtime drives the run, because a prompt came or the run is continued. This is the first event.
    RunStarted(&'a Run),
    /// A step begins.
    StepStarted {
        /// The number of the step since the run was last prompted or continued, from 1.
        step: usize,
    },
    /// The runtime asks a model, for the first time in a step or again.
    ModelAsked {
        /// The model's name.
        model: &'a str,
        /// The number of failures of this turn so far, with this model and others.
        failures: usize,
    },
    /// The turn failed: the model or the preparation of its turn failed, or the turn was ended from outside. This event takes
    /// the place of [`Event::TurnEnded`]. The text of the turn is void. Complete calls that were reported early end like any
    /// other; no more events follow about other announced calls. The next step has the same number, unless there were early
    /// calls.
    TurnFailed {
        /// The error.
        error: &'a str,
        /// Set if the same or the next model is asked again. Otherwise the run stops.
        again: bool,
    },
    /// The model ignored the choice of tools: it had to call a tool, and its turn has no such call. The turn stands.
    ChoiceIgnored(&'a ToolChoice),
    /// A prompt came, and waits until the run can accept it.
    PromptQueued(&'a Prompt),
    /// The run refused a message that should steer it.
    PromptRefused(&'a Refusal),
    /// The run accepted a prompt, at its beginning or between two steps.
    Prompted(&'a Prompt),
    /// A piece of the model's text.
    Text(&'a str),
    /// A piece of the model's reasoning.
    Reasoning(&'a str),
    /// The model begins a call. The arguments follow.
    CallAnnounced {
        /// The call's id.
        id: &'a CallId,
        /// The tool's name, as the model wrote it.
        name: &'a str,
    },
    /// A piece of a call's arguments.
    CallArguments {
        /// The call's id.
        id: &'a CallId,
        /// The new piece of text.
        text: &'a str,
        /// The arguments up to and including this piece.
        so_far: PartialArguments<'a>,
    },
    /// The provider called a tool that it executes itself, or such a call ended. It is not a call of the run.
    ProviderPart(&'a ProviderPart),
    /// The model's turn ended.
    TurnEnded {
        /// The reason.
        reason: &'a FinishReason,
        /// Tokens used by the turn.
        usage: Usage,
    },
    /// The model's turn and all of its calls have ended.
    StepEnded {
        /// The number of the step since the run was last prompted or continued, from 1.
        step: usize,
    },
    /// A call's tool accepted the arguments of the model, or those that a person wrote instead. The call may still be denied.
    CallAccepted(&'a Call),
    /// A call waits for an approval, an answer, its execution outside this program, or a decision after its process died.
    InterruptOpened {
        /// The call.
        call: &'a Call,
        /// The interrupt.
        interrupt: &'a Interrupt,
    },
    /// A decision about a call was made.
    CallDecided {
        /// The call.
        call: &'a Call,
        /// The id of the interrupt.
        interrupt: &'a InterruptId,
        /// The decision.
        decision: &'a Decision,
        /// The principal that decided.
        by: &'a Principal,
    },
    /// A call runs now: its arguments were accepted, and it was approved if that was necessary.
    CallStarted(&'a Call),
    /// A running call reports progress.
    CallProgress(&'a Progress),
    /// An event of the run inside of a call whose tool is an agent. If that run has such a call itself, the inner event is an
    /// [`Event::Inner`] again.
    Inner {
        /// The id of the call.
        call: &'a CallId,
        /// The event of the inner run.
        event: &'a Event<'a>,
    },
    /// A call ended.
    CallEnded {
        /// The call.
        call: &'a Call,
        /// The result.
        result: &'a CallResult,
        /// The detail of a failure, for the log only.
        detail: Option<&'a str>,
    },
    /// The run finished, was stopped, or waits for a decision.
    RunAtRest(&'a Phase),
    /// The run could not go on. If a model failed or the run was cancelled, [`Event::RunAtRest`] came before.
    RunFailed(&'a AgentError),
    /// A hook failed. This has no other effect, and only the observer receives the event.
    HookFailed {
        /// The number of the hook, in the order in which hooks were added, from 0.
        hook: usize,
        /// The text of the error.
        error: &'a str,
    },
}

/// A receiver of the events of a run, set by [`Agent::observer`].
///
/// [Hooks](super::Hook) also receive events. An agent can have many hooks, and they can work beside the run. Only the
/// observer can slow down tools that produce output faster than it can pass on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot watch the runs of an agent",
    label = "`Observer` is not implemented",
    note = "`Terminal` is an observer; a function of `&Event<'_>` can be one of `Agent::hook`"
)]
pub trait Observer: Send + Sync {
    /// Receives an event. The runtime calls this in order, from the run's task or a tool's task. This method must not block.
    fn on_event(&self, event: Event<'_>);

    /// Waits until there is room for more preliminary outputs of a call. Returns `None` if there is room now.
    ///
    /// The runtime asks a streaming tool for its next item only after the future is ready. A tool that waits for
    /// [`Context::wait_for_room`](crate::Context::wait_for_room) goes on then, too. So an observer with a slow receiver slows down the tool,
    /// and no buffer has to keep the items. The call's time limit keeps running.
    fn wait_for_room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        let _ = call;
        None
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn on_event(&self, event: Event<'_>) {
        (**self).on_event(event);
    }

    fn wait_for_room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        (**self).wait_for_room(call)
    }
}

/// An observer that ignores all events.
pub struct NoObserver;

impl Observer for NoObserver {
    fn on_event(&self, _: Event<'_>) {}
}

/// The arguments of a call so far, as text and as a value. The text is parsed when an observer first looks at the value, and
/// each later piece is parsed once. An observer that never looks costs nothing.
///
/// ```
/// use tool_runtime::agent::{Event, Observer};
///
/// struct Typing;
///
/// impl Observer for Typing {
///     fn on_event(&self, event: Event<'_>) {
///         if let Event::CallArguments { so_far, .. } = event {
///             so_far.look(|json| match json.value() {
///                 Some(value) => println!("writes to {}", value["to"]),
///                 None => println!("begins"),
///             });
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct PartialArguments<'a> {
    text: &'a str,
    view: &'a View,
}

/// The parsed part of a call's arguments.
#[derive(Debug, Default)]
pub struct View(Mutex<Option<Box<IncrementalJson>>>);

static UNWATCHED: View = View(Mutex::new(None));

impl PartialArguments<'static> {
    /// The arguments of a call before their first piece, for tests of observers.
    pub const EMPTY: Self = Self { text: "", view: &UNWATCHED };
}

impl<'a> PartialArguments<'a> {
    pub(super) fn new(text: &'a str, view: &'a View) -> Self {
        Self { text, view }
    }

    /// Returns the text.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Calls `look` with the value, without a copy. Text that is not JSON is in [`IncrementalJson::error`]; the value then holds
    /// the part before the error.
    ///
    /// # Panics
    ///
    /// Panics if it is called from inside `look`, or from inside `report` of [`PartialArguments::for_each_change`].
    pub fn look<R>(self, look: impl FnOnce(&IncrementalJson) -> R) -> R {
        self.read(look, |json, rest| json.feed_str(rest).ok())
    }

    /// Calls `report` with each change since the last call of this method or of [`PartialArguments::look`] for this call of a
    /// tool. An observer that calls it with each piece gets the changes of each piece.
    ///
    /// # Panics
    ///
    /// Panics in the same cases as [`PartialArguments::look`].
    pub fn for_each_change(self, report: &mut dyn FnMut(Path<'_>, ValueChange<'_>)) {
        self.read(|_| (), |json, rest| json.feed_str_with(rest, report).ok());
    }

    fn read<R>(
        self,
        look: impl FnOnce(&IncrementalJson) -> R,
        feed: impl FnOnce(&mut IncrementalJson, &str) -> Option<()>,
    ) -> R {
        let mut view = match self.view.0.try_lock() {
            Ok(view) => view,
            Err(TryLockError::Poisoned(view)) => PoisonError::into_inner(view),
            Err(TryLockError::WouldBlock) => panic!("`look` or `for_each_change` was called inside itself"),
        };
        let json = view.get_or_insert_default();
        // Each look parses the text to its end or its first error, so everything before the parser's offset was there at the
        // last look.
        if json.error().is_none() {
            let read = json.offset();
            feed(json, &self.text[read..]);
        }
        look(json)
    }
}

impl fmt::Debug for PartialArguments<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("PartialArguments").field(&self.text).finish()
    }
}

/// The time that a run waits at its end for the work of its hooks.
const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// The error of a hook.
pub type HookError = Box<dyn Error + Send + Sync>;

/// A callback of the application for every event of a run, added by [`Agent::hook`].
///
/// Every `Fn(&Event) -> ()` and every `Fn(&Event) -> HookResult` is a hook. It receives each [`Event`]: when
/// a run begins or pauses, steps and turns of the model, each piece of text, and failures other than those of hooks. It also
/// receives the announcement, acceptance, opening, decision, start, progress and end of each call.
///
/// **Order.** Each event goes to the hooks in the order in which they were added, and then to the [`Observer`]. Events come in
/// the order in which they happened; an event that changes the run comes after the change is in the log. The work that one hook
/// began ([`HookResult::work`]) is done in the same order, one piece after the other. A run that goes on does not wait for this
/// work. A run ends, or pauses, only when all work is done, or after ten seconds.
///
/// **Failure.** If a hook fails or panics, the observer receives [`Event::HookFailed`]. The other hooks and the run go on.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tool_runtime::{Agent, agent::{Event, HookResult}, model::{ScriptedModel, Turn}};
///
/// let names = Arc::new(Mutex::new(Vec::new()));
/// let seen = Arc::clone(&names);
/// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]))
///     .hook(move |event: &Event<'_>| {
///         if let Event::StepStarted { step } = event {
///             seen.lock().unwrap().push(format!("step {step}"));
///         }
///     })
///     .hook(|event: &Event<'_>| match event {
///         Event::Text(text) => {
///             let text = text.to_string();
///             HookResult::work(async move {
///                 tokio::time::sleep(std::time::Duration::from_millis(1)).await; // or send it somewhere
///                 println!("{text}");
///                 Ok(())
///             })
///         }
///         _ => HookResult::done(),
///     });
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// agent.run("Hi.").await.unwrap();
/// # });
/// assert_eq!(*names.lock().unwrap(), ["step 1"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a hook of an agent",
    label = "not a function of `&Event<'_>`",
    note = "write `|event: &Event<'_>| ...`, which returns nothing or a `HookResult`"
)]
pub trait Hook: Send + Sync {
    /// Handles an event. The runtime calls this from the run's task or a tool's task. This method must not block.
    fn on_event(&self, event: &Event<'_>) -> HookResult;
}

#[diagnostic::do_not_recommend]
impl<R: Into<HookResult>, F: Fn(&Event<'_>) -> R + Send + Sync> Hook for F {
    fn on_event(&self, event: &Event<'_>) -> HookResult {
        self(event).into()
    }
}

/// The work of a hook about one event, done beside the run.
type Pending = BoxFuture<'static, Result<(), HookError>>;

/// The outcome of a call of a hook: done, failed, or work that it began.
#[must_use]
pub struct HookResult(Result<Option<Pending>, HookError>);

impl HookResult {
    /// Creates the outcome of a hook that has nothing more to do.
    pub fn done() -> Self {
        Self(Ok(None))
    }

    /// Creates the outcome of a hook that failed.
    pub fn failed(error: impl Into<HookError>) -> Self {
        Self(Err(error.into()))
    }

    /// Creates the outcome of a hook with more work to do, beside the run.
    pub fn work(work: impl Future<Output = Result<(), HookError>> + Send + 'static) -> Self {
        Self(Ok(Some(work.boxed())))
    }
}

impl From<()> for HookResult {
    fn from((): ()) -> Self {
        Self::done()
    }
}

impl std::fmt::Debug for HookResult {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self.0 {
            Ok(None) => "HookResult(done)",
            Err(_) => "HookResult(failed)",
            Ok(Some(_)) => "HookResult(work)",
        })
    }
}

/// The observer of a run, with the hooks before it.
struct Hooking {
    observer: Arc<dyn Observer>,
    hooks: Vec<(Arc<dyn Hook>, mpsc::UnboundedSender<Pending>)>,
}

/// The work that the hooks of a run began.
#[derive(Default)]
pub struct HookTasks(Vec<JoinHandle<()>>);

/// Returns the observer of `agent` with its hooks before it, and a handle to the work that they will begin.
pub fn observer_with_hooks(agent: &Agent) -> (Arc<dyn Observer>, HookTasks) {
    let observer = &agent.setup.observer;
    if agent.setup.hooks.is_empty() {
        return (Arc::clone(observer), HookTasks::default());
    }
    let (mut hooks, mut begun) = (Vec::new(), Vec::new());
    for (number, hook) in agent.setup.hooks.iter().enumerate() {
        let (send, mut works) = mpsc::unbounded_channel::<Pending>();
        let observer = Arc::clone(observer);
        begun.push(tokio::spawn(async move {
            while let Some(work) = works.recv().await {
                let done = AssertUnwindSafe(work).catch_unwind().await;
                report_failure(&*observer, number, done);
            }
        }));
        hooks.push((Arc::clone(hook), send));
    }
    (Arc::new(Hooking { observer: Arc::clone(observer), hooks }), HookTasks(begun))
}

impl HookTasks {
    /// Waits until the work is done. The observer that [`observer_with_hooks`] returned must be dropped before.
    pub async fn done(self) {
        if self.0.is_empty() {
            return;
        }
        let all = futures_util::future::join_all(self.0);
        // Work that takes longer goes on, but the run does not wait for it.
        let _ = tokio::time::timeout(HOOK_TIMEOUT, all).await;
    }
}

type Done = Result<Result<(), HookError>, Box<dyn std::any::Any + Send>>;

fn report_failure(observer: &dyn Observer, hook: usize, done: Done) {
    let error = match done {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(panic) => crate::toolset::panicked(panic).for_log(),
    };
    report(observer, Event::HookFailed { hook, error: &error });
}

impl Observer for Hooking {
    fn on_event(&self, event: Event<'_>) {
        for (number, (hook, works)) in self.hooks.iter().enumerate() {
            match catch_unwind(AssertUnwindSafe(|| hook.on_event(&event))) {
                Ok(HookResult(Ok(None))) => {}
                Ok(HookResult(Err(error))) => report_failure(&*self.observer, number, Ok(Err(error))),
                // The receiving task ends with the last sender.
                Ok(HookResult(Ok(Some(work)))) => drop(works.send(work)),
                Err(panic) => report_failure(&*self.observer, number, Err(panic)),
            }
        }
        self.observer.on_event(event);
    }

    fn wait_for_room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        self.observer.wait_for_room(call)
    }
}
