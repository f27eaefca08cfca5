//! What a tool may know about the call it works on, and what it may do about it: report, ask, take steps once.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use event_listener::Event;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Failure, Output, Question, Tool};
use crate::message::Message;
use tool_run::tool::QuestionAnswer;

/// What a tool may know about the call it works on. Cheap to clone.
///
/// A tool asks for it with a parameter marked `#[context]`.
#[derive(Clone, Default)]
pub struct Context {
    call: Arc<OfCall>,
    shared: Arc<Shared>,
}

/// What every call has for itself: it is made anew for each, so it is small.
#[derive(Clone, Default)]
struct OfCall {
    id: Arc<str>,
    cancellation: Cancellation,
    /// Where questions go; `None` where nobody listens.
    journal: Option<Arc<dyn Journal>>,
    is_revised: bool,
    rare: Option<Box<Rare>>,
}

/// What most calls do not have.
#[derive(Clone, Default)]
struct Rare {
    deadline: Option<Instant>,
    progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

/// What the calls of a turn have in common.
#[derive(Clone, Default)]
struct Shared {
    principal: Option<String>,
    /// A few, copied for each call: lists are found through and copied faster than maps.
    extensions: Vec<(TypeId, Arc<dyn Any + Send + Sync>)>,
    secrets: Vec<(String, Secret)>,
    messages: Arc<Vec<Message>>,
    taint: Arc<[String]>,
}

/// A text that is not shown by `Debug`.
#[derive(Clone)]
struct Secret(String);

impl Context {
    /// The context of the call `call_id`, without principal, deadline or listeners.
    pub fn new(call_id: impl AsRef<str>) -> Self {
        Self::default().for_call(call_id)
    }

    /// The id of the call.
    pub fn call_id(&self) -> &str {
        &self.call.id
    }

    /// On whose behalf the call is made, as the application authenticated it; `None` where it did not.
    pub fn principal(&self) -> Option<&str> {
        self.shared.principal.as_deref()
    }

    /// Tells when nobody waits for the result any more.
    pub fn cancellation(&self) -> &Cancellation {
        &self.call.cancellation
    }

    /// When the call's time is over.
    pub fn deadline(&self) -> Option<Instant> {
        self.call.rare.as_ref()?.deadline
    }

    /// The time left until the deadline, zero when it has passed; `None` without a deadline.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The conversation up to the turn that made this call.
    pub fn messages(&self) -> &[Message] {
        &self.shared.messages
    }

    /// The same, shared.
    #[cfg(feature = "agent")]
    pub(crate) fn shared_messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.shared.messages)
    }

    /// Tools whose outputs hold text of strangers, and are in the conversation.
    pub fn taint(&self) -> &[String] {
        &self.shared.taint
    }

    pub(crate) fn journal(&self) -> Option<&Arc<dyn Journal>> {
        self.call.journal.as_ref()
    }

    /// Returns whether the tool accepted the call's arguments before, and they are not what the model wrote.
    pub(crate) fn is_revised(&self) -> bool {
        self.call.is_revised
    }

    /// Marks arguments that the tool accepted before, and that are not what the model wrote.
    pub(crate) fn revised(mut self) -> Self {
        self.change().is_revised = true;
        self
    }

    /// The value of type `T` that the application attached to the call.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let (_, value) = self.shared.extensions.iter().find(|(known, _)| *known == TypeId::of::<T>())?;
        value.downcast_ref()
    }

    /// Who hears how far the tool has come, in place of the journal.
    pub(super) fn listener(&self) -> Option<&(dyn Fn(Progress) + Send + Sync)> {
        self.call.rare.as_ref()?.progress.as_deref()
    }

    /// The secret called `name`, for a parameter marked `#[arg(secret)]`.
    pub(crate) fn secret(&self, name: &str) -> Option<&str> {
        self.shared.secrets.iter().find(|(known, _)| known == name).map(|(_, secret)| secret.0.as_str())
    }

    /// The same context for the call `call_id`.
    pub fn for_call(self, call_id: impl AsRef<str>) -> Self {
        self.for_shared(Arc::from(call_id.as_ref()))
    }

    /// The same, without a copy.
    pub(crate) fn for_shared(mut self, call_id: Arc<str>) -> Self {
        self.change().id = call_id;
        self
    }

    /// The context of a call of this one's turn, made at once and not of a copy.
    #[cfg(feature = "agent")]
    pub(crate) fn of_call(&self, call_id: Arc<str>, cancellation: Cancellation, journal: Arc<dyn Journal>) -> Self {
        let rare = self.call.rare.clone();
        let call = OfCall { id: call_id, cancellation, journal: Some(journal), is_revised: false, rare };
        Self { call: Arc::new(call), shared: Arc::clone(&self.shared) }
    }

    /// Adds on whose behalf the call is made.
    pub fn with_principal(mut self, principal: impl Into<String>) -> Self {
        self.share().principal = Some(principal.into());
        self
    }

    /// Puts another cancellation signal in place.
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Self {
        self.change().cancellation = cancellation;
        self
    }

    /// Sets when the call's time is over, unless it is over earlier already.
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        let rare = self.change().rare.get_or_insert_default();
        rare.deadline = Some(rare.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self
    }

    /// Adds a listener for progress; it is called from the tool's task and must not block.
    pub fn with_progress(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.change().rare.get_or_insert_default().progress = Some(Arc::new(listener));
        self
    }

    /// Attaches a value, in place of an earlier one of the same type.
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let extensions = &mut self.share().extensions;
        extensions.retain(|(known, _)| *known != TypeId::of::<T>());
        extensions.push((TypeId::of::<T>(), Arc::new(value)));
        self
    }

    /// Adds a secret for parameters marked `#[arg(secret)]`.
    pub fn with_secret(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, secrets) = (name.into(), &mut self.share().secrets);
        secrets.retain(|(known, _)| *known != name);
        secrets.push((name, Secret(value.into())));
        self
    }

    /// Adds the conversation so far.
    pub fn with_messages(self, messages: impl Into<Vec<Message>>) -> Self {
        self.with_shared_messages(Arc::new(messages.into()))
    }

    /// The same, without a copy.
    pub(crate) fn with_shared_messages(mut self, messages: Arc<Vec<Message>>) -> Self {
        self.share().messages = messages;
        self
    }

    /// Adds the names of tools whose outputs hold text of strangers, and are in the conversation.
    pub fn with_taint(mut self, tools: impl Into<Arc<[String]>>) -> Self {
        self.share().taint = tools.into();
        self
    }

    /// Adds where the call's questions and steps are kept.
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.change().journal = Some(journal);
        self
    }

    fn change(&mut self) -> &mut OfCall {
        Arc::make_mut(&mut self.call)
    }

    fn share(&mut self) -> &mut Shared {
        Arc::make_mut(&mut self.shared)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Context")
            .field("call_id", &self.call.id)
            .field("principal", &self.shared.principal)
            .field("deadline", &self.deadline())
            .field("cancelled", &self.call.cancellation.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Tells a tool that nobody waits for it any more. Clones belong to one signal.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    signal: Arc<Signal>,
}

#[derive(Debug, Default)]
struct Signal {
    cancelled: AtomicBool,
    event: Event,
}

impl Cancellation {
    /// A signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal. Again has no effect.
    pub fn cancel(&self) {
        self.signal.cancelled.store(true, Ordering::SeqCst);
        self.signal.event.notify(usize::MAX);
    }

    /// Whether the signal was given.
    pub fn is_cancelled(&self) -> bool {
        self.signal.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until the signal is given.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            let listener = self.signal.event.listen();
            if self.is_cancelled() {
                return;
            }
            listener.await;
        }
    }
}

/// How far a tool has come.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The call that reports.
    pub call_id: String,
    /// What is done, in the same unit as `total`.
    pub done: f64,
    /// What there is to do, where that is known.
    pub total: Option<f64>,
    /// What is being done, for a person.
    pub message: Option<String>,
    /// A preliminary output, for a user interface: the whole of it, in place of what was shown before.
    pub preliminary: Option<Value>,
}

impl Progress {
    /// Creates a report without a message and a preliminary output.
    pub fn new(call_id: impl Into<String>, done: f64, total: Option<f64>) -> Self {
        Self { call_id: call_id.into(), done, total, message: None, preliminary: None }
    }
}

impl Context {
    /// Reports how far the tool has come; lost when nobody listens.
    ///
    /// Whoever listens is told at once, in this call: nothing is kept in between.
    pub fn progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        self.report(|| Some((done, total, Some(message.into()), None)));
    }

    /// Shows a preliminary output; lost when nobody listens, and then not even written. [`Context::preliminary_of`] checks
    /// its type.
    ///
    /// Whoever listens is told at once, in this call, and so nothing is kept in between. A tool that shows much waits for
    /// [`Context::room`] before it goes on.
    pub fn preliminary(&self, output: impl Serialize) {
        self.report(|| Some((0.0, None, None, Some(serde_json::to_value(output).ok()?))));
    }

    /// Shows a preliminary output of the tool `T`, which has the type of the final one.
    ///
    /// ```
    /// use tool_runtime::{Context, tool};
    ///
    /// #[derive(serde::Serialize, schemars::JsonSchema)]
    /// struct Found {
    ///     pages: Vec<String>,
    /// }
    ///
    /// /// Searches the handbook.
    /// #[tool(effect = read_only)]
    /// async fn search(
    ///     /// The words to look for.
    ///     words: Vec<String>,
    ///     #[context] cx: &Context,
    /// ) -> Found {
    ///     let mut found = Found { pages: Vec::new() };
    ///     for word in words {
    ///         found.pages.push(format!("about {word}"));
    ///         cx.preliminary_of::<search>(&found);
    ///         cx.room().await;
    ///     }
    ///     found
    /// }
    /// ```
    pub fn preliminary_of<T: Tool<Output: Serialize>>(&self, output: &T::Output) {
        self.preliminary(output);
    }

    /// Waits until whoever is shown preliminary outputs has room for more. There is room where nobody says otherwise.
    pub async fn room(&self) {
        if let Some(room) = self.journal().and_then(|journal| journal.room()) {
            room.await;
        }
    }

    /// Shows a preliminary output that was written already, and waits for room.
    pub(super) async fn show(&self, output: &Output) {
        self.report(|| Some((0.0, None, None, Some(output.value()))));
        self.room().await;
    }

    fn report(&self, what: impl FnOnce() -> Option<(f64, Option<f64>, Option<String>, Option<Value>)>) {
        let (listener, journal) = (self.listener(), self.journal());
        if listener.is_none() && journal.is_none() {
            return;
        }
        let Some((done, total, message, preliminary)) = what() else { return };
        let progress = Progress { call_id: self.call_id().to_owned(), done, total, message, preliminary };
        match (listener, journal) {
            (Some(listener), _) => listener(progress),
            (None, Some(journal)) => journal.report(progress),
            (None, None) => {}
        }
    }
}

/// Where a call reports, and its questions and steps are kept: the run that it belongs to.
#[diagnostic::on_unimplemented(message = "`{Self}` keeps no journal of calls", label = "`Journal` is not implemented")]
pub trait Journal: Send + Sync {
    /// The tool has come further; must not block.
    fn report(&self, progress: Progress);

    /// Waits until whoever is told has room for more; `None` where there is room.
    fn room(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// The arguments as the caller wrote them, where validators have understood them otherwise since.
    fn given(&self) -> Option<&str> {
        None
    }

    /// The journal as it is, for whoever made it.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// Asks somebody, and waits. A question that was answered when the call ran before is not asked again.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<QuestionAnswer, Failure>>;

    /// The number of the next step called `name`, and its result if it was taken when the call ran before.
    fn recorded(&self, name: &str) -> Option<Value>;

    /// Keeps that a step begins, before it does; `None` where nobody has to know. It is safe when the future ends.
    fn begin(&self, _name: &str) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        None
    }

    /// Keeps the result of a step; it is safe when the future ends.
    fn record(&self, name: &str, value: Value) -> BoxFuture<'static, Result<(), Failure>>;
}

impl Context {
    /// Asks the person behind the run, and waits for an answer of type `T`, for days if need be.
    ///
    /// When the program ends in between, the tool runs again from its start, in whatever process the run goes on, and gets
    /// the answers that were given already at once. What it does before the question must not matter twice, or be a
    /// [`Context::step`]; and it must ask the same questions again, in the same order.
    ///
    /// Fails when the person declines, nobody can be asked, or too much is asked.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(&self, question: impl Into<String>) -> Result<T, Failure> {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
        match self.put(Question::ask(question, schema.into())).await? {
            QuestionAnswer::Given(value) => Ok(serde_json::from_value(value)?),
            QuestionAnswer::Approved => Err(Failure::new("the question was not answered")),
            QuestionAnswer::Denied(reason) => Err(declined("the person did not answer", reason)),
        }
    }

    /// Asks the person behind the run for permission to go on, and waits, as [`Context::ask`] does.
    ///
    /// Fails when the person refuses, or nobody can be asked.
    pub async fn request_approval(&self, question: impl Into<String>) -> Result<(), Failure> {
        match self.put(Question::approval(question)).await? {
            QuestionAnswer::Approved => Ok(()),
            QuestionAnswer::Given(_) => Err(Failure::new("the permission was not given")),
            QuestionAnswer::Denied(reason) => Err(declined("the person did not allow it", reason)),
        }
    }

    /// Does something that must not be done twice. Its result is kept in the run's log: when the call runs again, because
    /// its process was stopped, the result is there at once and `work` is dropped.
    ///
    /// Steps are told apart by their names; steps of one name by their order. A call that was stopped starts again by itself
    /// only where its tool is declared `resumable`, `idempotent` or `effect = read_only`. Otherwise a person is asked what came
    /// of it.
    ///
    /// Between the end of `work` and the moment when its result is kept there is a gap that no log can close:
    ///
    /// - Of a `resumable` tool the log also keeps that a step begins. A call that was stopped with a step begun and no result
    ///   of it does not start again by itself: a person is asked. An error of `work` is no result.
    /// - Of a tool that is `idempotent` or `effect = read_only` the log keeps the result only, so `work` can run again.
    ///
    /// A person may also start a call again. Then `work` runs again if it has no result: send `name` and the call's id
    /// ([`Context::call_id`]) as an idempotency key where the other side takes one.
    ///
    /// Fails when `work` does, or the step cannot be kept.
    pub async fn step<T, E>(&self, name: &str, work: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        E: super::ToolError,
    {
        let journal = self.journal();
        if let Some(value) = journal.and_then(|journal| journal.recorded(name)) {
            return Ok(serde_json::from_value(value)?);
        }
        if let Some(begun) = journal.and_then(|journal| journal.begin(name)) {
            begun.await?;
        }
        let result = work.await.map_err(super::ToolError::into_failure)?;
        if let Some(journal) = journal {
            journal.record(name, serde_json::to_value(&result)?).await?;
        }
        Ok(result)
    }

    /// Asks the person behind the run what `question` says, and waits, as [`Context::ask`] does. For questions whose schema is
    /// only known at run time.
    ///
    /// Fails when nobody can be asked, or too much is asked.
    pub async fn put(&self, question: Question) -> Result<QuestionAnswer, Failure> {
        match self.journal() {
            Some(journal) => journal.ask(question).await,
            None => Err(Failure::new("nobody can be asked")),
        }
    }
}

fn declined(what: &str, reason: Option<String>) -> Failure {
    match reason {
        None => Failure::new(what),
        Some(reason) => Failure::new(format!("{what}: {reason}")),
    }
}
