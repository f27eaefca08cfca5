//! The hooks of an agent: callbacks that receive every event before the observer.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{report, trace::report_failed_hook};
use crate::agent::{Agent, Event, Observer};
use crate::run::CallId;

/// The time that a run waits at its end for the work of its hooks.
const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// The error of a hook.
pub type HookError = Box<dyn Error + Send + Sync>;

/// A callback of the application for every event of a run, added by [`Agent::hook`].
///
/// Every `Fn(&Event) -> ()` and every `Fn(&Event) -> HookResult` is a hook, and nothing else is, so that the compiler knows
/// the type of a closure's parameter. It receives each [`Event`]: when
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
///     .hook(move |event| {
///         if let Event::StepStarted { step } = event {
///             seen.lock().unwrap().push(format!("step {step}"));
///         }
///     })
///     .hook(|event| match event {
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
    note = "write `|event| ...`, which returns nothing or a `HookResult`"
)]
pub trait Hook<R>: Fn(&Event<'_>) -> R + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<R, F: Fn(&Event<'_>) -> R + Send + Sync + 'static> Hook<R> for F {}

/// A hook whose result has been turned into a [`HookResult`].
pub type AnyHook = Arc<dyn Hook<HookResult>>;

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
    hooks: Vec<(AnyHook, mpsc::UnboundedSender<Pending>)>,
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
    report_failed_hook(hook, &error);
    report(observer, Event::HookFailed { hook, error: &error });
}

impl Observer for Hooking {
    fn on_event(&self, event: Event<'_>) {
        for (number, (hook, works)) in self.hooks.iter().enumerate() {
            match catch_unwind(AssertUnwindSafe(|| hook(&event))) {
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
