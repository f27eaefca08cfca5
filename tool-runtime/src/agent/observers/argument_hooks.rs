//! The hooks that follow the arguments of calls: while the model writes them, and when they are accepted.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context as Task, Poll, Waker},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::time::timeout;

use crate::agent::Agent;
use crate::json::IncrementalJson;
use crate::run::{CallId, Run};
use crate::tool::{Context, ErasedTool, InputHooks};
use crate::toolset::Toolset;
use tool_run::run::LogEntry;

const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// The hooks of an agent and of its tools that follow the arguments of calls.
pub struct ArgumentHooks {
    agent: Vec<Arc<dyn InputHooks>>,
    tools: Toolset,
}

/// The hooks of one call: those of its tool, and those of the agent.
struct CallHooks {
    tool: Arc<dyn ErasedTool>,
    agent: Vec<Arc<dyn InputHooks>>,
    cx: Context,
}

impl CallHooks {
    fn each(&self) -> impl Iterator<Item = &dyn InputHooks> {
        self.tool.hooks().into_iter().chain(self.agent.iter().map(|hooks| &**hooks))
    }

    async fn available(self, arguments: Arc<str>) {
        for hooks in self.each() {
            hooks.available(self.tool.name(), &arguments, &self.cx).await;
        }
    }
}

impl ArgumentHooks {
    /// Returns the hooks of `agent` and of `tools`, or `None` if there are none.
    pub fn find(agent: &Agent, tools: &Toolset) -> Option<Self> {
        let agent = agent.setup.input_hooks.clone();
        (!agent.is_empty() || tools.has_hooks()).then(|| Self { agent, tools: tools.clone() })
    }

    /// Returns the call that the model begins, if hooks follow its arguments.
    pub fn watch(&self, name: &str, id: &CallId, context: &Context) -> Option<WatchedCall> {
        let hooks = self.of_call(name, id, context)?;
        let wants_pieces = hooks.each().any(InputHooks::wants_deltas);
        Some(WatchedCall { hooks, input: wants_pieces.then(IncrementalJson::new) })
    }

    /// Reports arguments that `entries` accepted, before anything else happens because of them.
    pub fn accepted(&self, run: &Run, entries: &[LogEntry], context: &Context) {
        for entry in entries {
            let (LogEntry::CallAccepted { call, .. } | LogEntry::Edited { call, .. }) = entry else { continue };
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
        let tool = self.tools.get(name)?;
        if tool.hooks().is_none() && self.agent.is_empty() {
            return None;
        }
        let cx = context.clone().for_shared(id.shared());
        Some(CallHooks { tool: Arc::clone(tool), agent: self.agent.clone(), cx })
    }
}

/// A call of the turn whose arguments hooks follow.
pub struct WatchedCall {
    hooks: CallHooks,
    /// The arguments so far, if a hook wants each piece.
    input: Option<IncrementalJson>,
}

impl WatchedCall {
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
type Busy = BoxFuture<'static, Option<Box<WatchedCall>>>;

/// The calls of a turn that hooks follow, with their numbers. It is empty without hooks.
#[derive(Default)]
pub struct WatchedCalls {
    calls: Vec<(usize, Box<WatchedCall>)>,
    busy: Option<(usize, Busy)>,
}

impl WatchedCalls {
    /// Reports a call that begins.
    pub fn start(&mut self, number: usize, watched: Option<WatchedCall>) {
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
    fn go_on(&mut self, number: usize, work: impl Future<Output = Box<WatchedCall>> + Send + 'static) {
        let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind().map(Result::ok));
        match poll_once(work.as_mut()) {
            Poll::Ready(watched) => self.calls.extend(watched.map(|watched| (number, watched))),
            Poll::Pending => {
                let work = async move { timeout(HOOK_TIMEOUT, work).await.ok().flatten() };
                self.busy = Some((number, work.boxed()));
            }
        }
    }

    /// Waits for the hooks that were called. Cancel safe.
    pub async fn idle(&mut self) {
        if let Some((number, work)) = &mut self.busy {
            let (number, watched) = (*number, work.await);
            self.busy = None;
            self.calls.extend(watched.map(|watched| (number, watched)));
        }
    }
}

/// Polls once, without a waker. If the work is not ready, the caller must poll it again with a waker.
fn poll_once<F: Future>(work: Pin<&mut F>) -> Poll<F::Output> {
    work.poll(&mut Task::from_waker(Waker::noop()))
}
