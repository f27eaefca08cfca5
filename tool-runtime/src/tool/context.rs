//! What a tool may know about the call it works on.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Cancellation, Journal, Progress, journal::Journals};
use crate::message::Message;

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
    journal: Journals,
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
