//! Code of the application that is called at everything that happens in a run.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{Agent, ApprovalRequest, Event, ExternalCall, Front, QuestionRequest, driver::tell};
use crate::feedback::Rejection;
use crate::run::{CallId, Decision, Obligation};

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
/// **Order.** Each event goes to the hooks in the order in which they were added, and then to the [`Front`]; events come in
/// the order in which they happened, what changes the run after it is in the log. Of one hook, what it has begun
/// ([`Hooked::work`]) is done in that order, one after the other; the run does not wait for it, but ends, or pauses, only when
/// all is done, or has taken more than ten seconds.
///
/// **Failure.** A hook that fails or panics has no other effect than an [`Event::HookFailed`] for the front. The other hooks
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

/// What a hook does about one event, beside the run.
type Pending = BoxFuture<'static, Result<(), HookError>>;

/// What came of a call of a hook.
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

impl Agent {
    /// Adds hooks: code that is called at everything that happens in a run, with those that were added before.
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.hooks.push(Arc::new(hooks));
        self
    }
}

/// The front of a run, with the hooks before it.
struct Hooking {
    front: Arc<dyn Front>,
    hooks: Vec<(Arc<dyn Hooks>, mpsc::UnboundedSender<Pending>)>,
}

/// What the hooks of a run have begun.
#[derive(Default)]
pub(super) struct Begun(Vec<JoinHandle<()>>);

/// Puts the hooks of `agent` before its front.
pub(super) fn hooked(agent: &mut Agent) -> Begun {
    if agent.hooks.is_empty() {
        return Begun::default();
    }
    let (mut hooks, mut begun) = (Vec::new(), Vec::new());
    for (number, hook) in std::mem::take(&mut agent.hooks).into_iter().enumerate() {
        let (send, mut works) = mpsc::unbounded_channel::<Pending>();
        let front = Arc::clone(&agent.front);
        begun.push(tokio::spawn(async move {
            while let Some(work) = works.recv().await {
                let done = AssertUnwindSafe(work).catch_unwind().await;
                report(&*front, number, done);
            }
        }));
        hooks.push((hook, send));
    }
    agent.front = Arc::new(Hooking { front: Arc::clone(&agent.front), hooks });
    Begun(begun)
}

impl Begun {
    /// Waits for it. Nobody may have anything to tell the hooks any more.
    pub(super) async fn done(self) {
        if self.0.is_empty() {
            return;
        }
        let all = futures_util::future::join_all(self.0);
        // What takes longer goes on, and nobody waits for it.
        let _ = tokio::time::timeout(PATIENCE, all).await;
    }
}

type Done = Result<Result<(), HookError>, Box<dyn std::any::Any + Send>>;

fn report(front: &dyn Front, hook: usize, done: Done) {
    let error = match done {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(panic) => crate::toolset::panicked(panic).for_log(),
    };
    tell(front, Event::HookFailed { hook, error: &error });
}

impl Front for Hooking {
    fn event(&self, event: Event<'_>) {
        for (number, (hook, works)) in self.hooks.iter().enumerate() {
            match catch_unwind(AssertUnwindSafe(|| hook.on(&event))) {
                Ok(Hooked(How::Done)) => {}
                Ok(Hooked(How::Failed(error))) => report(&*self.front, number, Ok(Err(error))),
                // Whoever takes it up ends with the last sender.
                Ok(Hooked(How::Work(work))) => drop(works.send(work)),
                Err(panic) => report(&*self.front, number, Err(panic)),
            }
        }
        self.front.event(event);
    }

    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        self.front.room(call)
    }

    fn attends(&self) -> bool {
        self.front.attends()
    }

    fn decide(
        &self,
        tool: &str,
        open: &Obligation,
        feedback: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, Decision>> {
        self.front.decide(tool, open, feedback)
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        self.front.approve(request)
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        self.front.execute(call)
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        self.front.answer(request)
    }

    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        self.front.reconcile(request)
    }
}
