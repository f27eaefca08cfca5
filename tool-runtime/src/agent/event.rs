//! The events of a run, and those who receive them: the observer, and hooks before it.

use std::{
    error::Error,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, TryLockError},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::agent::{Agent, AgentError, observers::tell};
use crate::json::Incremental;
use crate::message::ProviderPart;
use crate::model::{FinishReason, ToolChoice, Usage};
use crate::run::{Call, CallId, CallResult, Decision, Interrupt, InterruptId, Phase, Principal, Prompt, Refusal, Run};
use crate::tool::Progress;
use tool_schema::json::{Change, Path};

/// Something that happened in a run. What changes the run is told after it is in the run's log.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The run is driven: a prompt came, or it is to go on. The first event.
    RunStarted(&'a Run),
    /// The model is asked.
    StepStarted {
        /// Which turn of the model since the prompt, from 1.
        step: usize,
    },
    /// A model is asked, for the first time in a step or again.
    ModelAsked {
        /// Its name.
        model: &'a str,
        /// How often this turn failed before, with this model and others.
        failures: usize,
    },
    /// The turn came to nothing: the model failed, or what prepares its turns, or somebody ended it. It comes in place of
    /// [`Event::StepFinished`]. What was said is void, except for calls that were complete and told early: those end as any
    /// other. Of others that were announced nothing more is told. The next step has the same number, unless there were such
    /// calls.
    StepFailed {
        /// The error.
        error: &'a str,
        /// Set if the model is asked again, or the next one. Otherwise the run stops.
        again: bool,
    },
    /// The model did not obey: it was to call a tool, and the turn that ends has no such call. It stands.
    ChoiceIgnored(&'a ToolChoice),
    /// A prompt came that has to wait.
    PromptQueued(&'a Prompt),
    /// A prompt to a run that goes on was refused.
    PromptRefused(&'a Refusal),
    /// The run took up what somebody said: at its beginning, or between two steps.
    Prompted(&'a Prompt),
    /// The model said more.
    Text(&'a str),
    /// The model thought more.
    Reasoning(&'a str),
    /// The model begins a call; its arguments follow.
    CallAnnounced {
        /// The call's id.
        id: &'a CallId,
        /// The tool's name, as the model wrote it.
        name: &'a str,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The call's id.
        id: &'a CallId,
        /// The next piece of text.
        text: &'a str,
        /// All of them so far.
        so_far: PartialArguments<'a>,
    },
    /// A tool that the provider executes was called, or came to something. It is no call of the run.
    Provided(&'a ProviderPart),
    /// The model's turn ended.
    StepFinished {
        /// Why.
        reason: &'a FinishReason,
        /// Tokens used by the turn.
        usage: Usage,
    },
    /// The model's turn and all calls of it have ended.
    StepEnded {
        /// Which turn of the model since the prompt, from 1.
        step: usize,
    },
    /// A call's tool accepted its arguments, or those that a person wrote in their place. Nothing is decided yet.
    CallAccepted(&'a Call),
    /// A call waits for somebody: for an approval, an answer, or whoever executes it.
    CallOpened {
        /// The call.
        call: &'a Call,
        /// The interrupt.
        interrupt: &'a Interrupt,
    },
    /// A decision about a call was made.
    CallDecided {
        /// The call.
        call: &'a Call,
        /// About what.
        interrupt: &'a InterruptId,
        /// The decision.
        decision: &'a Decision,
        /// The principal.
        by: &'a Principal,
    },
    /// A call's arguments were accepted, it was approved if it had to be, and it runs now.
    CallStarted(&'a Call),
    /// A running call reports.
    CallProgress(&'a Progress),
    /// Something happened in the run inside of a call, where the tool is an agent. Of an agent deeper inside, the event is
    /// one such itself.
    Inner {
        /// The call.
        call: &'a CallId,
        /// The event inside.
        event: &'a Event<'a>,
    },
    /// A call ended.
    CallFinished {
        /// The call.
        call: &'a Call,
        /// The result.
        result: &'a CallResult,
        /// The detail of a failure that only the log gets.
        detail: Option<&'a str>,
    },
    /// The run finished, was stopped, or waits until somebody decides.
    RunPaused(&'a Phase),
    /// The run could not go on. Of a model that fails, the run is paused before.
    RunFailed(&'a AgentError),
    /// A hook failed; nothing else came of that. Only the observer gets it.
    HookFailed {
        /// Which, in the order in which they were added, from 0.
        hook: usize,
        /// How.
        error: &'a str,
    },
}

/// Watches a run. [`Agent::observer`](super::Agent::observer) sets it.
///
/// [`Hooks`](super::Hooks) watch, too: there may be many, and they may work beside the run. An observer can also hold up tools
/// that produce more than it can hand on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot watch the runs of an agent",
    label = "`Observer` is not implemented",
    note = "`Terminal` is an observer; a function of `&Event<'_>` can be one of `Agent::hooks`"
)]
pub trait Observer: Send + Sync {
    /// Receives an event. Called in order, from the run's task or a tool's; must not block.
    fn event(&self, event: Event<'_>);

    /// Waits until there is room for more preliminary outputs of a call; `None` where there is.
    ///
    /// A tool whose output is a stream is asked for the next item when this has come, and one that waits for
    /// [`Context::room`](crate::Context::room) goes on. So an observer that hands on to somebody slower holds up the tool,
    /// and nobody has to keep what comes in between. The call's time goes on.
    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        let _ = call;
        None
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn event(&self, event: Event<'_>) {
        (**self).event(event);
    }

    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        (**self).room(call)
    }
}

/// The observer of a run that nobody watches.
pub struct Unwatched;

impl Observer for Unwatched {
    fn event(&self, _: Event<'_>) {}
}

/// The arguments of a call so far, as text and, where somebody looks, as a value: it is read when it is first looked at, and
/// then each piece once. An observer that never looks pays nothing.
///
/// ```
/// use tool_runtime::agent::{Event, Observer};
///
/// struct Typing;
///
/// impl Observer for Typing {
///     fn event(&self, event: Event<'_>) {
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

/// The part of a call's arguments that was read.
#[derive(Debug, Default)]
pub struct View(Mutex<Option<Box<Incremental>>>);

static NOBODY: View = View(Mutex::new(None));

impl PartialArguments<'static> {
    /// The arguments of a call before their first piece, for tests of observers.
    pub const EMPTY: Self = Self { text: "", view: &NOBODY };
}

impl<'a> PartialArguments<'a> {
    pub(super) fn new(text: &'a str, view: &'a View) -> Self {
        Self { text, view }
    }

    /// The text.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Lends the value; nothing is copied. Text that is no JSON is in [`Incremental::error`], and the value is what came
    /// before it.
    ///
    /// # Panics
    ///
    /// When it is called from inside `look`, or from inside `tell` of [`PartialArguments::changes`].
    pub fn look<R>(self, look: impl FnOnce(&Incremental) -> R) -> R {
        self.read(look, |json, rest| json.feed_str(rest).ok())
    }

    /// Tells what has changed since this or [`PartialArguments::look`] was last called for the call: with each piece, for an
    /// observer that calls it with each.
    ///
    /// # Panics
    ///
    /// As [`PartialArguments::look`] does.
    pub fn changes(self, tell: &mut dyn FnMut(Path<'_>, Change<'_>)) {
        self.read(|_| (), |json, rest| json.feed_str_with(rest, tell).ok());
    }

    fn read<R>(
        self,
        look: impl FnOnce(&Incremental) -> R,
        feed: impl FnOnce(&mut Incremental, &str) -> Option<()>,
    ) -> R {
        let mut view = match self.view.0.try_lock() {
            Ok(view) => view,
            Err(TryLockError::Poisoned(view)) => PoisonError::into_inner(view),
            Err(TryLockError::WouldBlock) => panic!("the arguments are looked at already"),
        };
        let json = view.get_or_insert_default();
        // All of them are read up to where they are wrong, so what is read is what was there when it was last looked at.
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

/// The outcome of a call of a hook: its failure, or the work that it began, if any.
#[must_use]
pub struct Hooked(Result<Option<Pending>, HookError>);

impl Hooked {
    /// There is nothing more to do.
    pub fn done() -> Self {
        Self(Ok(None))
    }

    /// It failed.
    pub fn failed(error: impl Into<HookError>) -> Self {
        Self(Err(error.into()))
    }

    /// There is more to do, beside the run.
    pub fn work(work: impl Future<Output = Result<(), HookError>> + Send + 'static) -> Self {
        Self(Ok(Some(work.boxed())))
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
            Ok(None) => "Hooked(done)",
            Err(_) => "Hooked(failed)",
            Ok(Some(_)) => "Hooked(work)",
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
                Ok(Hooked(Ok(None))) => {}
                Ok(Hooked(Err(error))) => report(&*self.observer, number, Ok(Err(error))),
                // Whoever takes it up ends with the last sender.
                Ok(Hooked(Ok(Some(work)))) => drop(works.send(work)),
                Err(panic) => report(&*self.observer, number, Err(panic)),
            }
        }
        self.observer.event(event);
    }

    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        self.observer.room(call)
    }
}
