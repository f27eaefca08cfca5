//! The context of a call: data about the call, and methods to report progress, ask people and record steps.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering, fence},
    },
    time::{Duration, Instant},
};

use event_listener::Event;
use futures_util::future::{BoxFuture, ready};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Failure, Output, Question};
use crate::message::{Message, Usage};
use crate::sync::lock;
use tool_run::tool::QuestionAnswer;

/// The context of a call: its id, its conversation and values of the application. Through it, the tool reports progress, asks
/// people and records steps. It is cheap to clone.
///
/// A tool requests it with a parameter marked `#[context]`.
#[derive(Clone, Default)]
pub struct Context {
    call: Arc<CallData>,
    shared: Arc<Shared>,
}

/// The data of one call. It is created for each call, so it is small.
#[derive(Clone, Default)]
struct CallData {
    id: Arc<str>,
    cancellation: Cancellation,
    /// The receiver of reports, questions and steps; `None` if nobody listens.
    journal: Option<Arc<dyn Journal>>,
    is_revised: bool,
    rare: Option<Box<Rare>>,
}

/// The data that most calls do not have.
#[derive(Clone, Default)]
struct Rare {
    deadline: Option<Instant>,
    progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// The context of the call that runs its tool in this one. The function begins only if both calls stand.
    around: Option<Context>,
    /// The secrets that the tool wanted and the context lacks, if they may be missing until the call starts.
    wanted: Option<Arc<Mutex<Vec<WantedSecret>>>>,
}

/// A secret that a tool wants.
#[derive(Clone)]
pub(crate) struct WantedSecret {
    #[cfg_attr(not(feature = "agent"), allow(dead_code, reason = "only an agent provides secrets later"))]
    pub(crate) name: String,
    /// Set if the tool can do without.
    pub(crate) is_optional: bool,
}

/// The data that the calls of a turn share.
#[derive(Clone, Default)]
struct Shared {
    principal: Option<String>,
    claims: Option<Arc<Value>>,
    /// A short list, copied for each call: searching and copying it is faster than with a map.
    extensions: Vec<(TypeId, Arc<dyn Any + Send + Sync>)>,
    secrets: Vec<(String, Secret)>,
    messages: Arc<Vec<Message>>,
    taint: Arc<[String]>,
}

/// A text that `Debug` does not show.
#[derive(Clone)]
struct Secret(String);

impl Context {
    /// Creates the context of the call `call_id`, without principal, deadline or listeners.
    pub fn new(call_id: impl AsRef<str>) -> Self {
        Self::default().for_call(call_id)
    }

    /// Returns the id of the call.
    pub fn call_id(&self) -> &str {
        &self.call.id
    }

    /// Returns the principal of the call, as the application authenticated it; `None` if it did not.
    pub fn principal(&self) -> Option<&str> {
        self.shared.principal.as_deref()
    }

    /// Returns the claims of the principal: what the application knows of it beside its id ([`Caller`](crate::agent::Caller)). They are
    /// `null` if the application set none.
    pub fn claims(&self) -> &Value {
        self.shared.claims.as_deref().unwrap_or(&Value::Null)
    }

    #[cfg(feature = "agent")]
    pub(crate) fn shared_claims(&self) -> Option<&Arc<Value>> {
        self.shared.claims.as_ref()
    }

    /// Returns the cancellation signal of the call.
    pub fn cancellation(&self) -> &Cancellation {
        &self.call.cancellation
    }

    /// Returns the deadline of the call; `None` without one. The time limit of a tool begins with its function, so a layer that
    /// waits before sees no deadline for it.
    pub fn deadline(&self) -> Option<Instant> {
        let own = self.call.rare.as_ref().and_then(|rare| rare.deadline);
        let of_run = self.journal().and_then(|journal| journal.deadline());
        own.into_iter().chain(of_run).min()
    }

    /// Returns the time left until the deadline, zero when it has passed; `None` without a deadline.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns the conversation up to the turn that made this call.
    pub fn messages(&self) -> &[Message] {
        &self.shared.messages
    }

    #[cfg(feature = "agent")]
    pub(crate) fn shared_messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.shared.messages)
    }

    /// Returns the tools that brought untrusted text into the conversation.
    pub fn taint(&self) -> &[String] {
        &self.shared.taint
    }

    /// Lets the function of the call begin. Returns `false` if nobody waits for its result any more: then it must not begin.
    pub(crate) fn begin(&self) -> bool {
        !self.cancellation().is_cancelled()
            && self.around().is_none_or(Self::begin)
            && self.journal().is_none_or(|journal| journal.begin())
    }

    /// Returns whether the function of the call may have begun.
    #[cfg(feature = "agent")]
    pub(crate) fn may_have_begun(&self) -> bool {
        self.around().is_none_or(Self::may_have_begun) && self.journal().is_none_or(|journal| journal.has_begun())
    }

    /// Returns this context for the inside of the call `around`, whose run also sees when the function begins.
    pub(crate) fn inside(mut self, around: &Self) -> Self {
        self.change().rare.get_or_insert_default().around = Some(around.clone());
        self
    }

    fn around(&self) -> Option<&Self> {
        self.call.rare.as_ref()?.around.as_ref()
    }

    pub(crate) fn journal(&self) -> Option<&Arc<dyn Journal>> {
        self.call.journal.as_ref()
    }

    /// Returns whether the tool accepted these arguments before, and they differ from what the model wrote.
    pub(crate) fn is_revised(&self) -> bool {
        self.call.is_revised
    }

    /// Marks the arguments as accepted before, and different from what the model wrote.
    pub(crate) fn revised(mut self) -> Self {
        self.change().is_revised = true;
        self
    }

    /// Returns the value of type `T` that the application attached to the call.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let (_, value) = self.shared.extensions.iter().find(|(known, _)| *known == TypeId::of::<T>())?;
        value.downcast_ref()
    }

    /// Returns the listener that receives progress in place of the journal.
    pub(super) fn listener(&self) -> Option<&(dyn Fn(Progress) + Send + Sync)> {
        self.call.rare.as_ref()?.progress.as_deref()
    }

    /// Returns the secret called `name`, for a parameter marked `#[arg(secret)]`.
    pub(crate) fn secret(&self, name: &str) -> Option<&str> {
        self.shared.secrets.iter().find(|(known, _)| known == name).map(|(_, secret)| secret.0.as_str())
    }

    /// Returns this context for a check whose tool may lack secrets: until the call starts, it does without them.
    #[cfg(feature = "agent")]
    pub(crate) fn awaiting_secrets(mut self) -> Self {
        self.change().rare.get_or_insert_default().wanted = Some(Arc::default());
        self
    }

    /// Notes that the tool wants the secret `name`, which the context lacks. Returns whether it may be missing until the call starts.
    pub(super) fn want_secret(&self, name: &str, is_optional: bool) -> bool {
        let wanted = self.call.rare.as_ref().and_then(|rare| rare.wanted.as_ref());
        if let Some(wanted) = wanted {
            lock(wanted).push(WantedSecret { name: name.to_owned(), is_optional });
        }
        wanted.is_some()
    }

    /// Returns the secrets that the tool wanted and did not get.
    pub(crate) fn wanted_secrets(&self) -> Vec<WantedSecret> {
        let wanted = self.call.rare.as_ref().and_then(|rare| rare.wanted.as_ref());
        wanted.map_or_else(Vec::new, |wanted| lock(wanted).clone())
    }

    /// Returns whether the tool lacks a secret that it cannot do without.
    pub(super) fn lacks_secret(&self) -> bool {
        self.wanted_secrets().iter().any(|wanted| !wanted.is_optional)
    }

    /// Returns a context with nothing but the secrets of this one.
    #[cfg(feature = "agent")]
    pub(crate) fn secrets_alone(&self) -> Self {
        let shared = Shared { secrets: self.shared.secrets.clone(), ..Shared::default() };
        Self { shared: Arc::new(shared), ..Self::default() }
    }

    /// Returns `text` with a mark in place of each secret of at least four bytes.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        let secrets = self.shared.secrets.iter().map(|(_, secret)| &*secret.0).filter(|secret| secret.len() >= 4);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "[redacted]"))
    }

    /// Returns this context for the call `call_id`.
    pub fn for_call(self, call_id: impl AsRef<str>) -> Self {
        self.for_shared(Arc::from(call_id.as_ref()))
    }

    /// Returns this context for a call whose id is shared already.
    pub(crate) fn for_shared(mut self, call_id: Arc<str>) -> Self {
        self.change().id = call_id;
        self
    }

    /// Creates the context of a call in the same turn, without first copying the data of this context's call.
    #[cfg(feature = "agent")]
    pub(crate) fn of_call(&self, call_id: Arc<str>, cancellation: Cancellation, journal: Arc<dyn Journal>) -> Self {
        let rare = self.call.rare.clone();
        let call = CallData { id: call_id, cancellation, journal: Some(journal), is_revised: false, rare };
        Self { call: Arc::new(call), shared: Arc::clone(&self.shared) }
    }

    /// Sets the principal on whose behalf the call is made.
    pub fn with_principal(mut self, principal: impl Into<String>) -> Self {
        self.share().principal = Some(principal.into());
        self
    }

    /// Sets the claims of the principal: a small record that is no secret, because it is stored with the runs of the principal.
    pub fn with_claims(mut self, claims: impl Into<Arc<Value>>) -> Self {
        self.share().claims = Some(claims.into());
        self
    }

    /// Sets the claims, or removes them.
    #[cfg(feature = "agent")]
    pub(crate) fn of_claims(mut self, claims: Option<Arc<Value>>) -> Self {
        self.share().claims = claims;
        self
    }

    /// Sets the principal and its claims, or removes them.
    #[cfg(feature = "agent")]
    pub(crate) fn of_principal(mut self, principal: Option<&str>, claims: Option<Arc<Value>>) -> Self {
        let shared = self.share();
        (shared.principal, shared.claims) = (principal.map(str::to_owned), claims);
        self
    }

    /// Replaces the cancellation signal.
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Self {
        self.change().cancellation = cancellation;
        self
    }

    /// Sets the deadline of the call, unless it has an earlier one.
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        let rare = self.change().rare.get_or_insert_default();
        rare.deadline = Some(rare.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self
    }

    /// Adds a listener for progress. The tool's task calls it, so it must not block.
    pub fn with_progress(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.change().rare.get_or_insert_default().progress = Some(Arc::new(listener));
        self
    }

    /// Attaches a value. It replaces an earlier one of the same type.
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

    /// Adds the values and the secrets of `other` that this context does not have.
    pub(crate) fn with_values_of(mut self, other: &Self) -> Self {
        let shared = self.share();
        for (id, value) in &other.shared.extensions {
            if shared.extensions.iter().all(|(known, _)| known != id) {
                shared.extensions.push((*id, Arc::clone(value)));
            }
        }
        for (name, secret) in &other.shared.secrets {
            if shared.secrets.iter().all(|(known, _)| known != name) {
                shared.secrets.push((name.clone(), secret.clone()));
            }
        }
        self
    }

    /// Sets the conversation so far.
    pub fn with_messages(self, messages: impl Into<Vec<Message>>) -> Self {
        self.with_shared_messages(Arc::new(messages.into()))
    }

    /// Sets the conversation so far, without a copy.
    pub(crate) fn with_shared_messages(mut self, messages: Arc<Vec<Message>>) -> Self {
        self.share().messages = messages;
        self
    }

    /// Sets the names of tools that brought untrusted text into the conversation.
    pub fn with_taint(mut self, tools: impl Into<Arc<[String]>>) -> Self {
        self.share().taint = tools.into();
        self
    }

    fn change(&mut self) -> &mut CallData {
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

/// A signal that cancels a call: nobody waits for its result any more. Clones share the signal.
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
    /// Creates a signal that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the call. A second cancellation has no effect.
    pub fn cancel(&self) {
        self.signal.cancelled.store(true, Ordering::SeqCst);
        // A task that begins to listen after this line sees the flag. Without a listener, a notification would only allocate.
        fence(Ordering::SeqCst);
        if self.signal.event.total_listeners() > 0 {
            self.signal.event.notify(usize::MAX);
        }
    }

    /// Returns whether the signal was given.
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

/// The progress of a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The call that reports.
    pub call_id: String,
    /// The amount of work that is done, in the unit of `total`.
    pub done: f64,
    /// The total amount of work, if known.
    pub total: Option<f64>,
    /// A description of the current work, for a person.
    pub message: Option<String>,
    /// A preliminary output, for a user interface. It replaces what was shown before.
    pub preliminary: Option<Value>,
}

impl Progress {
    /// Creates a report without a message and a preliminary output.
    pub fn new(call_id: impl Into<String>, done: f64, total: Option<f64>) -> Self {
        Self { call_id: call_id.into(), done, total, message: None, preliminary: None }
    }
}

impl Context {
    /// Reports the tool's progress; the report is lost when nobody listens.
    ///
    /// The listener receives it at once, in this call: nothing is buffered.
    pub fn report_progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        self.report(|| Some((done, total, Some(message.into()), None)));
    }

    /// Shows a preliminary output. When nobody listens, it is lost, and not even serialized. [`Context::show_preliminary_of`]
    /// checks its type.
    ///
    /// The listener receives it at once, in this call: nothing is buffered. A tool with many outputs waits for
    /// [`Context::wait_for_room`] before it continues.
    pub fn show_preliminary(&self, output: impl Serialize) {
        self.report(|| Some((0.0, None, None, Some(serde_json::to_value(output).ok()?))));
    }

    /// Waits until the receiver of preliminary outputs has room for more. Without such a receiver, there is room.
    pub async fn wait_for_room(&self) {
        if let Some(room) = self.journal().and_then(|journal| journal.wait_for_room()) {
            room.await;
        }
    }

    /// Shows a preliminary output that is serialized already, and waits for room.
    pub(super) async fn show(&self, output: &Output) {
        self.report(|| Some((0.0, None, None, Some(output.value()))));
        self.wait_for_room().await;
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

/// The connection from a running call to its run, which receives reports, asks questions and records steps.
#[diagnostic::on_unimplemented(message = "`{Self}` keeps no journal of calls", label = "`Journal` is not implemented")]
pub trait Journal: Send + Sync {
    /// Receives a tool's progress. The method must not block.
    fn report(&self, progress: Progress);

    /// Waits until the receiver of reports has room for more; `None` if it has room now.
    fn wait_for_room(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// Records that the function of the call begins. Returns `false` if the call has ended, so that the function must not begin.
    fn begin(&self) -> bool {
        true
    }

    /// Returns whether the function of the call has begun, as far as is known.
    fn has_begun(&self) -> bool {
        true
    }

    /// Returns the time at which the run ends the call; `None` for never.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Returns the arguments as the caller wrote them, if validators have changed them since.
    fn given(&self) -> Option<&str> {
        None
    }

    /// Returns the journal itself, for the code that created it.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// Asks a person, and waits. A question that was answered when the call ran before is not asked again.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<QuestionAnswer, Failure>>;

    /// Returns the result of the next step called `name`, if it was recorded when the call ran before.
    fn step_result(&self, name: &str) -> Option<Value>;

    /// Records that a step begins, before it does; `None` if nothing has to be recorded. The record is durable when the future
    /// completes.
    fn start_step(&self, _name: &str) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        None
    }

    /// Records the result of a step. The record is durable when the future completes.
    fn end_step(&self, name: &str, value: Value) -> BoxFuture<'static, Result<(), Failure>>;

    /// Records the tokens that the tool's own request to a model used. The record is durable when the future completes.
    fn add_usage(&self, _model: &str, _usage: Usage) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(ready(Ok(())))
    }
}

impl Context {
    /// Asks the person behind the run, and waits for an answer of type `T`, which may take days.
    ///
    /// If the process stops in between, the tool runs again from its start, in whichever process continues the run. It then gets
    /// earlier answers at once. So work before the question must be harmless to repeat, or be a [`Context::step`]. The tool must
    /// ask the same questions again, in the same order.
    ///
    /// Fails when the person declines or gives no `T`, no person can be asked here, or a limit of the run is reached.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(&self, question: impl Into<String>) -> Result<T, Failure> {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
        match self.ask_question(Question::ask(question, schema.into())).await? {
            QuestionAnswer::Given(value) => Ok(serde_json::from_value(value)?),
            QuestionAnswer::Approved => Err(Failure::new("the question was not answered")),
            QuestionAnswer::Denied(reason) => Err(declined("the person did not answer", reason)),
        }
    }

    /// Asks the person behind the run for permission to continue, and waits, as [`Context::ask`] does.
    ///
    /// Fails when the person refuses, no person can be asked here, or a limit of the run is reached.
    pub async fn request_approval(&self, question: impl Into<String>) -> Result<(), Failure> {
        match self.ask_question(Question::approval(question)).await? {
            QuestionAnswer::Approved => Ok(()),
            QuestionAnswer::Given(_) => Err(Failure::new("the permission was not given")),
            QuestionAnswer::Denied(reason) => Err(declined("the person did not allow it", reason)),
        }
    }

    /// Runs `work`, which must not run twice, and records its result in the run's log. If the call runs again, because its
    /// process was stopped, the recorded result is returned at once and `work` is dropped.
    ///
    /// Steps are identified by their names, and steps of the same name by their order. A stopped call starts again by itself
    /// only if its tool is declared `resumable`, `idempotent` or `effect = read_only`. Otherwise the run asks a person.
    ///
    /// Between the end of `work` and the recording of its result there is a gap that no log can close:
    ///
    /// - For a `resumable` tool, the log also records that a step begins. If a call was stopped after a step began and before
    ///   its result was recorded, it does not start again by itself; a person decides. An error of `work` is not a result.
    /// - For a tool that is `idempotent` or `effect = read_only`, the log records the result only, so `work` can run again.
    ///
    /// A person may also start a call again. Then `work` runs again if it has no result. If the other service accepts an
    /// idempotency key, send `name` with a random key that is a step of its own. [`Context::call_id`] is unique only in its run.
    ///
    /// Fails when `work` fails, or the step cannot be recorded.
    pub async fn step<T, E>(&self, name: &str, work: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        E: super::ToolError,
    {
        let journal = self.journal();
        if let Some(value) = journal.and_then(|journal| journal.step_result(name)) {
            return Ok(serde_json::from_value(value)?);
        }
        if let Some(begun) = journal.and_then(|journal| journal.start_step(name)) {
            begun.await?;
        }
        let result = work.await.map_err(super::ToolError::into_failure)?;
        if let Some(journal) = journal {
            journal.end_step(name, serde_json::to_value(&result)?).await?;
        }
        Ok(result)
    }

    /// Adds the tokens of a model that the tool has asked by itself. They count like those of an inner agent: for the limits of the
    /// run and of the runs around it, for [`StopWhen`](crate::agent::StopWhen) conditions, and for the reply's usage, under the
    /// model's name. They are part of the run's log, as one of the call's recorded steps. A limit stops the run after the step.
    ///
    /// Each call of this method counts. If the request is in a [`Context::step`], add its usage inside of the step, so that a restart
    /// which repeats no request counts none again. Outside of a run, this method does nothing.
    ///
    /// Fails if the usage cannot be recorded, for example because the call has ended.
    ///
    /// ```
    /// # #[cfg(all(feature = "derive", feature = "agent"))] {
    /// use tool_runtime::{Agent, Context, Failure, message::Usage, model::{ScriptedModel, Turn}, tool, toolset};
    ///
    /// /// Translate a text.
    /// #[tool(effect = read_only)]
    /// async fn translate(text: String, #[context] cx: &Context) -> Result<String, Failure> {
    ///     cx.step("ask", async {
    ///         // Here the tool asks a model of its own.
    ///         cx.add_usage("small-model", Usage { input_tokens: 20, ..Usage::default() }).await?;
    ///         Ok::<_, Failure>(text.to_uppercase())
    ///     })
    ///     .await
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let model = ScriptedModel::new([Turn::call("translate", r#"{"text": "hi"}"#), Turn::say("HI")]);
    /// let reply = Agent::new(model).tools(toolset!(translate)).run("Translate.").await.unwrap();
    /// assert_eq!(reply.usage.input_tokens, 20);
    /// assert_eq!(reply.by_model()[1].0, "small-model");
    /// # });
    /// # }
    /// ```
    pub async fn add_usage(&self, model: impl AsRef<str>, usage: Usage) -> Result<(), Failure> {
        match self.journal() {
            Some(journal) => journal.add_usage(model.as_ref(), usage).await,
            None => Ok(()),
        }
    }

    /// Asks the person behind the run `question`, and waits, as [`Context::ask`] does. For questions whose schema is only known
    /// at run time.
    ///
    /// Fails when no person can be asked here, or a limit of the run is reached.
    pub async fn ask_question(&self, question: Question) -> Result<QuestionAnswer, Failure> {
        match self.journal() {
            Some(journal) => journal.ask(question).await,
            None => Err(Failure::new("no person can be asked here")),
        }
    }
}

fn declined(what: &str, reason: Option<String>) -> Failure {
    match reason {
        None => Failure::new(what),
        Some(reason) => Failure::new(format!("{what}: {reason}")),
    }
}
