//! Code of the application that is called at everything that happens in a run.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{Agent, Event, Observer, observers::tell};
use crate::run::CallId;

/// How long a run waits at its end for what its hooks have begun.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a hook failed.
pub type HookError = Box<dyn Error + Send + Sync>;

/// Code of the application that is called at everything that happens in a run: [`Agent::hooks`].
///
/// Every `Fn(&Event) -> ()` and every `Fn(&Event) -> Hooked` is one. What there is to hear is what an
/// [`Event`](super::Event) tells: a run that begins and pauses, steps and turns of the model, each piece that it says, calls
/// that are announced, accepted, opened, decided, started, report and end, and failures.
///
/// **Order.** Each event goes to the hooks in the order in which they were added, and then to the [`Observer`]; events come in
/// the order in which they happened, what changes the run after it is in the log. Of one hook, what it has begun
/// ([`Hooked::work`]) is done in that order, one after the other; the run does not wait for it, but ends, or pauses, only when
/// all is done, or has taken more than ten seconds.
///
/// **Failure.** A hook that fails or panics has no other effect than an [`Event::HookFailed`] for the observer. The other hooks
/// and the run go on.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tool_runtime::{Agent, agent::{Event, Hooked}, model::{ScriptedModel, Turn}};
///
/// let names = Arc::new(Mutex::new(Vec::new()));
/// let seen = Arc::clone(&names);
/// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]))
///     .hooks(move |event: &Event<'_>| {
///         if let Event::StepStarted { step } = event {
///             seen.lock().unwrap().push(format!("step {step}"));
///         }
///     })
///     .hooks(|event: &Event<'_>| match event {
///         Event::Text(text) => {
///             let text = text.to_string();
///             Hooked::work(async move {
///                 tokio::time::sleep(std::time::Duration::from_millis(1)).await; // or send it somewhere
///                 println!("{text}");
///                 Ok(())
///             })
///         }
///         _ => Hooked::done(),
///     });
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// agent.run("Hi.").await.unwrap();
/// # });
/// assert_eq!(*names.lock().unwrap(), ["step 1"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no hook of an agent",
    label = "not a function of `&Event<'_>`",
    note = "write `|event: &Event<'_>| ...`, which returns nothing, a `bool` or a `Hooked`"
)]
pub trait Hooks: Send + Sync {
    /// Something happened. Called from the run's task or a tool's; must not block.
    fn on(&self, event: &Event<'_>) -> Hooked;
}

#[diagnostic::do_not_recommend]
impl<R: Into<Hooked>, F: Fn(&Event<'_>) -> R + Send + Sync> Hooks for F {
    fn on(&self, event: &Event<'_>) -> Hooked {
        self(event).into()
    }
}

/// The work of a hook about one event, beside the run.
type Pending = BoxFuture<'static, Result<(), HookError>>;

/// The outcome of a call of a hook.
#[must_use]
pub struct Hooked(How);

enum How {
    Done,
    Failed(HookError),
    Work(Pending),
}

impl Hooked {
    /// There is nothing more to do.
    pub fn done() -> Self {
        Self(How::Done)
    }

    /// It failed.
    pub fn failed(error: impl Into<HookError>) -> Self {
        Self(How::Failed(error.into()))
    }

    /// There is more to do, beside the run.
    pub fn work(work: impl Future<Output = Result<(), HookError>> + Send + 'static) -> Self {
        Self(How::Work(work.boxed()))
    }
}

impl From<()> for Hooked {
    fn from((): ()) -> Self {
        Self::done()
    }
}

impl std::fmt::Debug for Hooked {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self.0 {
            How::Done => "Hooked(done)",
            How::Failed(_) => "Hooked(failed)",
            How::Work(_) => "Hooked(work)",
        })
    }
}

/// The observer of a run, with the hooks before it.
struct Hooking {
    observer: Arc<dyn Observer>,
    hooks: Vec<(Arc<dyn Hooks>, mpsc::UnboundedSender<Pending>)>,
}

/// The work that the hooks of a run have begun.
#[derive(Default)]
pub struct Begun(Vec<JoinHandle<()>>);

/// Returns the observer of `agent` with its hooks before it, and what they will have begun.
pub fn hooked(agent: &Agent) -> (Arc<dyn Observer>, Begun) {
    let observer = &agent.setup.observer;
    if agent.setup.hooks.is_empty() {
        return (Arc::clone(observer), Begun::default());
    }
    let (mut hooks, mut begun) = (Vec::new(), Vec::new());
    for (number, hook) in agent.setup.hooks.iter().enumerate() {
        let (send, mut works) = mpsc::unbounded_channel::<Pending>();
        let observer = Arc::clone(observer);
        begun.push(tokio::spawn(async move {
            while let Some(work) = works.recv().await {
                let done = AssertUnwindSafe(work).catch_unwind().await;
                report(&*observer, number, done);
            }
        }));
        hooks.push((Arc::clone(hook), send));
    }
    (Arc::new(Hooking { observer: Arc::clone(observer), hooks }), Begun(begun))
}

impl Begun {
    /// Waits for it. Nobody may have anything to tell the hooks any more.
    pub async fn done(self) {
        if self.0.is_empty() {
            return;
        }
        let all = futures_util::future::join_all(self.0);
        // What takes longer goes on, and nobody waits for it.
        let _ = tokio::time::timeout(PATIENCE, all).await;
    }
}

type Done = Result<Result<(), HookError>, Box<dyn std::any::Any + Send>>;

fn report(observer: &dyn Observer, hook: usize, done: Done) {
    let error = match done {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(panic) => crate::toolset::panicked(panic).for_log(),
    };
    tell(observer, Event::HookFailed { hook, error: &error });
}

impl Observer for Hooking {
    fn event(&self, event: Event<'_>) {
        for (number, (hook, works)) in self.hooks.iter().enumerate() {
            match catch_unwind(AssertUnwindSafe(|| hook.on(&event))) {
                Ok(Hooked(How::Done)) => {}
                Ok(Hooked(How::Failed(error))) => report(&*self.observer, number, Ok(Err(error))),
                // Whoever takes it up ends with the last sender.
                Ok(Hooked(How::Work(work))) => drop(works.send(work)),
                Err(panic) => report(&*self.observer, number, Err(panic)),
            }
        }
        self.observer.event(event);
    }

    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        self.observer.room(call)
    }
}
