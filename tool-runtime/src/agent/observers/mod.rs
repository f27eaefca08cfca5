//! The receivers of a run's events: its observer, its hooks and its trace.

mod followed;
mod reported;
#[cfg(feature = "tracing")]
mod trace;

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context as Task, Poll, Waker},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{task::JoinHandle, time::timeout};

use crate::agent::{Agent, Event, Observer};
use crate::gate::Gate;
use crate::json::Incremental;
use crate::run::{CallId, Phase, Run};
use crate::tool::{Context, DynTool, InputHooks};
use crate::toolset::Toolset;
pub use followed::ForeignEntries;
use tool_run::run::LogEntry;
use trace::Trace;
pub use trace::{chat, in_current_span, spawn, within};

/// The receivers of a run's events.
pub struct Observers {
    pub observer: Arc<dyn Observer>,
    pub hooks: Hooks,
    pub trace: Trace,
    /// The step whose start was reported, and whose end was not.
    step: Option<usize>,
    /// The details of failures, for observers only.
    details: HashMap<CallId, String, foldhash::fast::RandomState>,
}

impl Observers {
    /// Creates the receivers for a run of `agent` whose calls `gate` checks.
    pub fn new(agent: &Agent, gate: &Gate, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer,
            hooks: Hooks::new(agent, gate.tools()),
            trace: Trace::new(agent),
            step: None,
            details: HashMap::default(),
        }
    }

    pub fn report(&self, event: Event<'_>) {
        report(&*self.observer, event);
    }

    /// Remembers the step of a run that continues in the middle of it.
    pub fn resumed(&mut self, run: &Run) {
        let is_busy = matches!(run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended);
        self.step = is_busy.then(|| run.steps() as usize);
    }

    /// Adds the reason for a call's failure, for observers.
    pub fn add_detail(&mut self, call: &CallId, detail: String) {
        self.details.insert(call.clone(), detail);
    }

    pub fn publish(&mut self, run: &Run, entries: &[LogEntry]) {
        let mut last = 0;
        for entry in entries {
            self.publish_step(run, entry);
            self.trace.logged(run, entry);
            let event = match entry {
                LogEntry::Queued { prompt } => Some(Event::PromptQueued(prompt)),
                LogEntry::Prompted { prompt, .. } => Some(Event::Prompted(prompt)),
                LogEntry::TurnFailed { error, again, .. } => Some(Event::TurnFailed { error, again: *again }),
                LogEntry::Opened { call, interrupt } => {
                    run.call(call).map(|call| Event::CallOpened { call, interrupt })
                }
                LogEntry::Decided { interrupt, decision, by, .. } => {
                    run.call(interrupt.call()).map(|call| Event::CallDecided { call, interrupt, decision, by })
                }
                LogEntry::Checked { call, .. } | LogEntry::Edited { call, .. } => {
                    run.call_near(&mut last, call).map(Event::CallAccepted)
                }
                LogEntry::Started { call, .. } => run.call_near(&mut last, call).map(Event::CallStarted),
                LogEntry::Ended { call, result, .. } => {
                    let detail = self.details.remove(call);
                    if let Some(call) = run.call_near(&mut last, call) {
                        self.report(Event::CallFinished { call, result, detail: detail.as_deref() });
                    }
                    None
                }
                _ => None,
            };
            if let Some(event) = event {
                self.report(event);
            }
        }
    }

    /// Reports the end of a step before the entry that ended it.
    fn publish_step(&mut self, run: &Run, entry: &LogEntry) {
        let begins = matches!(entry, LogEntry::TurnStarted { .. });
        if (begins || matches!(entry, LogEntry::Finished { .. } | LogEntry::Stopped { .. }))
            && let Some(step) = self.step.take()
        {
            self.report(Event::StepEnded { step });
        }
        if begins {
            self.step = Some(run.steps() as usize);
        }
    }
}

/// Starts a task; if it may block its thread, on a thread of its own.
fn spawn_task<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static, blocking: bool) -> JoinHandle<T> {
    if blocking {
        let handle = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || handle.block_on(work))
    } else {
        tokio::spawn(work)
    }
}

/// Reports an event to an observer. A panic of the observer does not affect the run.
pub fn report(observer: &dyn Observer, event: Event<'_>) {
    contained(|| observer.event(event));
}

/// Runs code of the application. Returns `None` if it panics.
pub fn contained<T>(code: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}

const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// The hooks of an agent and of its tools that follow the arguments of calls.
pub struct Hooks {
    agent: Option<Arc<dyn InputHooks>>,
    /// The tools, if there are any hooks. Most agents have none, and need not search for them with each call.
    tools: Option<Toolset>,
}

/// The hooks of one call: those of its tool, and those of the agent.
struct CallHooks {
    tool: Arc<dyn DynTool>,
    agent: Option<Arc<dyn InputHooks>>,
    cx: Context,
}

impl CallHooks {
    fn each(&self) -> impl Iterator<Item = &dyn InputHooks> {
        self.tool.hooks().into_iter().chain(self.agent.as_deref())
    }

    async fn available(self, arguments: Arc<str>) {
        for hooks in self.each() {
            hooks.available(self.tool.name(), &arguments, &self.cx).await;
        }
    }
}

impl Hooks {
    pub fn new(agent: &Agent, tools: &Toolset) -> Self {
        let any = agent.setup.input_hooks.is_some() || tools.iter().any(|tool| tool.hooks().is_some());
        Self { agent: agent.setup.input_hooks.clone(), tools: any.then(|| tools.clone()) }
    }

    /// Returns the call that the model begins, if hooks follow its arguments.
    pub fn watch(&self, name: &str, id: &CallId, context: &Context) -> Option<HookedCall> {
        let hooks = self.of_call(name, id, context)?;
        let wants_pieces = hooks.each().any(InputHooks::wants_deltas);
        Some(HookedCall { hooks, input: wants_pieces.then(Incremental::new) })
    }

    /// Reports arguments that `entries` accepted, before anything else happens because of them.
    pub fn accepted(&self, run: &Run, entries: &[LogEntry], context: &Context) {
        if self.tools.is_none() {
            return;
        }
        for entry in entries {
            let (LogEntry::Checked { call, .. } | LogEntry::Edited { call, .. }) = entry else { continue };
            let Some(call) = run.call(call) else { continue };
            let Some(hooks) = self.of_call(&call.name, &call.id, context) else { continue };
            let work = hooks.available(Arc::clone(&call.arguments().text));
            let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind().map(drop));
            if poll_once(work.as_mut()).is_pending() {
                // Nothing waits for the hook: the call may go on meanwhile, and end first.
                tokio::spawn(timeout(HOOK_TIMEOUT, work));
            }
        }
    }

    fn of_call(&self, name: &str, id: &CallId, context: &Context) -> Option<CallHooks> {
        let tool = self.tools.as_ref()?.get(name)?;
        if tool.hooks().is_none() && self.agent.is_none() {
            return None;
        }
        let cx = context.clone().for_shared(id.shared());
        Some(CallHooks { tool: Arc::clone(tool), agent: self.agent.clone(), cx })
    }
}

/// A call of the turn whose arguments hooks follow.
pub struct HookedCall {
    hooks: CallHooks,
    /// The arguments so far, if a hook wants each piece.
    input: Option<Incremental>,
}

impl HookedCall {
    async fn start(self: Box<Self>) -> Box<Self> {
        for hooks in self.hooks.each() {
            hooks.start(self.hooks.tool.name(), &self.hooks.cx).await;
        }
        self
    }

    async fn delta(mut self: Box<Self>, delta: String) -> Box<Self> {
        if let Some(input) = &mut self.input {
            // Hooks also receive pieces after invalid JSON. The value then holds the part before the error.
            let _ = input.feed_str(&delta);
        }
        if let Some(input) = &self.input {
            for hooks in self.hooks.each().filter(|hooks| hooks.wants_deltas()) {
                hooks.delta(self.hooks.tool.name(), input, &delta, &self.hooks.cx).await;
            }
        }
        self
    }
}

/// The work of hooks with a call of the turn. It returns the call.
type Busy = BoxFuture<'static, Option<Box<HookedCall>>>;

/// The calls of a turn that hooks follow, with their numbers. It is empty without hooks.
#[derive(Default)]
pub struct Inputs {
    calls: Vec<(usize, Box<HookedCall>)>,
    busy: Option<(usize, Busy)>,
}

impl Inputs {
    /// Reports a call that begins.
    pub fn start(&mut self, number: usize, watched: Option<HookedCall>) {
        if let Some(watched) = watched {
            self.go_on(number, Box::new(watched).start());
        }
    }

    /// Reports a piece of a call's arguments.
    pub fn delta(&mut self, number: usize, delta: &str) {
        let place = self.calls.iter().rposition(|(known, watched)| *known == number && watched.input.is_some());
        if let Some(place) = place {
            let (_, watched) = self.calls.swap_remove(place);
            self.go_on(number, watched.delta(delta.to_owned()));
        }
    }

    /// Calls hooks. If they are ready at once, there is no wait.
    fn go_on(&mut self, number: usize, work: impl Future<Output = Box<HookedCall>> + Send + 'static) {
        let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind().map(Result::ok));
        match poll_once(work.as_mut()) {
            Poll::Ready(watched) => self.calls.extend(watched.map(|watched| (number, watched))),
            Poll::Pending => {
                let work = async move { timeout(HOOK_TIMEOUT, work).await.ok().flatten() };
                self.busy = Some((number, work.boxed()));
            }
        }
    }

    /// Waits for the hooks that were called. The future can be dropped, and the method called again.
    pub async fn idle(&mut self) {
        if let Some((number, work)) = &mut self.busy {
            let (number, watched) = (*number, work.await);
            self.busy = None;
            self.calls.extend(watched.map(|watched| (number, watched)));
        }
    }
}

/// Polls once. If the work is not ready, another task that can be woken polls it again.
fn poll_once<F: Future>(work: Pin<&mut F>) -> Poll<F::Output> {
    work.poll(&mut Task::from_waker(Waker::noop()))
}

/// The interface of traces, without the feature `tracing`. It does nothing.
#[cfg(not(feature = "tracing"))]
#[allow(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "the interface of `trace.rs`")]
mod trace {
    use futures_util::stream::BoxStream;
    use tokio::task::JoinHandle;

    use super::spawn_task;
    use crate::agent::{Agent, AgentError};
    use crate::model::{Delta, Model, ModelError, Request};
    use crate::run::{Call, CallId, Phase, Run};
    use crate::tool::{CallError, Output, ToolSpec};
    use tool_run::run::LogEntry;

    #[derive(Debug)]
    pub struct Trace;

    impl Trace {
        pub fn new(_: &Agent) -> Self {
            Self
        }

        pub fn begin(&mut self, _: &Agent, _: &Run) -> RunSpan {
            RunSpan
        }

        pub fn end(&mut self, _: &Run, _: &Result<Phase, AgentError>) {}

        pub fn logged(&mut self, _: &Run, _: &LogEntry) {}

        pub fn started(&mut self, _: &Call, _: &ToolSpec) -> CallSpan {
            CallSpan
        }

        pub fn ended(&mut self, _: &CallId, _: &Result<Output, CallError>) {}

        pub fn aborted(&mut self, _: &CallId) {}
    }

    pub struct RunSpan;

    pub struct CallSpan;

    pub fn within<F: Future>(_: RunSpan, future: F) -> F {
        future
    }

    pub fn in_current_span<F: Future>(future: F) -> F {
        future
    }

    pub fn spawn(_: CallSpan, work: impl Future<Output = ()> + Send + 'static, blocking: bool) -> JoinHandle<()> {
        spawn_task(work, blocking)
    }

    pub fn chat<'a>(_: &Agent, model: &'a dyn Model, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        model.stream(request)
    }
}
