//! Hooks around the arguments of calls: asked as the model writes them, and when they are accepted.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context as Task, Poll, Waker},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::time::timeout;

use super::Driver;
use crate::agent::Agent;
use crate::json::Incremental;
use crate::run::{Call, CallId, Inspector, LogEvent};
use crate::tool::{Context, DynTool, InputHooks};

/// How long a hook may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The hooks that hear of one call: those of its tool, and those of the agent.
struct Hooks {
    tool: Arc<dyn DynTool>,
    agent: Option<Arc<dyn InputHooks>>,
    cx: Context,
}

impl Hooks {
    fn each(&self) -> impl Iterator<Item = &dyn InputHooks> {
        self.tool.hooks().into_iter().chain(self.agent.as_deref())
    }

    async fn available(self, arguments: Arc<str>) {
        for hooks in self.each() {
            hooks.available(self.tool.name(), &arguments, &self.cx).await;
        }
    }
}

/// A call of the turn whose arguments are heard.
pub(super) struct Watched {
    hooks: Hooks,
    /// What has arrived, where anybody hears of pieces.
    input: Option<Incremental>,
}

impl Watched {
    async fn start(self: Box<Self>) -> Box<Self> {
        for hooks in self.hooks.each() {
            hooks.start(self.hooks.tool.name(), &self.hooks.cx).await;
        }
        self
    }

    async fn delta(mut self: Box<Self>, delta: String) -> Box<Self> {
        if let Some(input) = &mut self.input {
            // What is no JSON any more is heard all the same: the value is what came before.
            let _ = input.feed_str(&delta);
        }
        if let Some(input) = &self.input {
            for hooks in self.hooks.each().filter(|hooks| hooks.hears_deltas()) {
                hooks.delta(self.hooks.tool.name(), input, &delta, &self.hooks.cx).await;
            }
        }
        self
    }
}

/// What hooks do about a call of the turn, until it has come back from them.
type Busy = BoxFuture<'static, Option<Box<Watched>>>;

/// The calls of a turn that are heard, by their number. Empty where there are no hooks.
#[derive(Default)]
pub(super) struct Inputs {
    calls: Vec<(usize, Box<Watched>)>,
    busy: Option<(usize, Busy)>,
}

impl Inputs {
    /// Hears of a call that begins.
    pub(super) fn start(&mut self, number: usize, watched: Option<Watched>) {
        if let Some(watched) = watched {
            self.go_on(number, Box::new(watched).start());
        }
    }

    /// Hears of a piece of a call's arguments.
    pub(super) fn delta(&mut self, number: usize, delta: &str) {
        let place = self.calls.iter().rposition(|(known, watched)| *known == number && watched.input.is_some());
        if let Some(place) = place {
            let (_, watched) = self.calls.swap_remove(place);
            self.go_on(number, watched.delta(delta.to_owned()));
        }
    }

    /// Asks hooks. What they do at once costs no wait.
    fn go_on(&mut self, number: usize, work: impl Future<Output = Box<Watched>> + Send + 'static) {
        let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind().map(Result::ok));
        match at_once(work.as_mut()) {
            Poll::Ready(watched) => self.calls.extend(watched.map(|watched| (number, watched))),
            Poll::Pending => self.busy = Some((number, timed(work))),
        }
    }

    /// Waits for the hooks that are asked. It can be dropped and asked again.
    pub(super) async fn idle(&mut self) {
        if let Some((number, work)) = &mut self.busy {
            let (number, watched) = (*number, work.await);
            self.busy = None;
            self.calls.extend(watched.map(|watched| (number, watched)));
        }
    }
}

/// `work`, but not for ever.
fn timed(work: impl Future<Output = Option<Box<Watched>>> + Send + 'static) -> Busy {
    Box::pin(async move { timeout(PATIENCE, work).await.ok().flatten() })
}

/// Polls once. What does not end is polled again by somebody who can be woken.
fn at_once<F: Future>(work: Pin<&mut F>) -> Poll<F::Output> {
    work.poll(&mut Task::from_waker(Waker::noop()))
}

impl Driver<'_> {
    /// The call that the model begins, if anybody hears of its arguments.
    pub(super) fn watched(&self, name: &str, id: &CallId) -> Option<Watched> {
        let hooks = self.hooks(name, id)?;
        let hears = hooks.each().any(InputHooks::hears_deltas);
        Some(Watched { hooks, input: hears.then(Incremental::new) })
    }

    /// Whether anybody hears of arguments. Most agents have no hooks, and do not look for them with each call.
    pub(super) fn has_hooks(agent: &Agent, inspector: &Inspector) -> bool {
        agent.input_hooks.is_some() || inspector.tools().iter().any(|tool| tool.hooks().is_some())
    }

    fn hooks(&self, name: &str, id: &CallId) -> Option<Hooks> {
        if !self.hears {
            return None;
        }
        let tool = self.inspector.tools().get(name)?;
        if tool.hooks().is_none() && self.agent.input_hooks.is_none() {
            return None;
        }
        let cx = self.turn_context.clone().for_shared(id.shared());
        Some(Hooks { tool: Arc::clone(tool), agent: self.agent.input_hooks.clone(), cx })
    }

    /// Tells hooks of arguments that were accepted by entries of this driver's, before anything follows from that.
    pub(super) fn hear_accepted(&self, events: &[LogEvent]) {
        if !self.hears {
            return;
        }
        for event in events {
            let (LogEvent::Checked { call, .. } | LogEvent::Edited { call, .. }) = event else { continue };
            let Some(call) = self.kept.run.call(call) else { continue };
            self.hear(call);
        }
    }

    fn hear(&self, call: &Call) {
        let Some(hooks) = self.hooks(&call.name, &call.id) else { return };
        let work = hooks.available(Arc::clone(&call.arguments().text));
        let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind().map(drop));
        if at_once(work.as_mut()).is_pending() {
            // Nothing waits for it: the call may go on meanwhile, and end before.
            tokio::spawn(timeout(PATIENCE, work));
        }
    }
}
