//! A chat of a principal: a request opens it, submits decisions, and has a separate task write the response.

use std::{
    panic::resume_unwind,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::{
    sync::OwnedMutexGuard,
    time::{Instant, sleep},
};
use tool_run::run::RecordError;
use tool_runtime::{
    Agent, AgentError, Cancellation, Message, Part,
    agent::{LoadedRun, Session, Suspend},
    run::{Decision, InterruptId, Phase, Principal, Refusal, Run, RunId},
    store::StoreError,
};

use super::{
    ApiError, Shared, lock,
    registry::{ChatGuard, ChatResponse, Form, Prompted, ResponsePermit},
    repeated::{is_being_processed, repeated_prompt},
    replay::{OnReaders, ReplayBuffer, ReplayObserver, event_stream},
    run_sized,
    seal::{SingleUse, seal_error},
    shares::Place,
};
use crate::protocol::{Encoder, End};

/// The time that a cancelled response has to end before another begins.
pub(super) const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for which a request waits for another server that has the right to drive its run, and may have got the same request.
pub(super) const REPEAT_WAIT: Duration = Duration::from_secs(2);

/// The pause between two attempts to do what another server delays.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// The maximum length of a chat's id, in bytes.
const MAX_ID_BYTES: usize = 256;

/// The least number of bytes that a message of a conversation takes up in a request.
const MIN_MESSAGE_BYTES: usize = 32;

/// A chat that this request has locked: no other request changes it while this value exists.
pub(crate) struct Chat {
    pub(super) shared: Arc<Shared>,
    /// The form in which the client reads.
    pub(super) form: Form,
    pub(super) name: String,
    pub(super) principal: Principal,
    /// The opening of the sealed run, if the run is single-use and not spent yet.
    pub(super) single_use: Option<Arc<SingleUse>>,
    pub(super) guard: ChatGuard,
    pub(super) request_lock: OwnedMutexGuard<()>,
    /// The permit for the chat's active response.
    permit: Option<Arc<ResponsePermit>>,
    pub(super) agent: Agent,
    /// The stored run that this request's decisions belong to, once it is loaded.
    decisions: Option<Box<LoadedRun>>,
    pub(super) buffer: Arc<ReplayBuffer>,
    pub(super) cancel: Cancellation,
}

impl Chat {
    /// Locks the chat, after waiting until no other request changes it.
    pub(crate) async fn enter(
        shared: &Arc<Shared>,
        form: Form,
        principal: Principal,
        id: &str,
    ) -> Result<Self, ApiError> {
        let name = run_name(&principal, id)?;
        let guard = shared.registry.enter(&name)?;
        let request_lock = guard.lock_for_request().await;
        let cancel = Cancellation::new();
        let buffer = ReplayBuffer::new(shared.limits, shared.buffers.enter(&principal));
        let (by, signal) = (principal.to_string(), cancel.clone());
        let agent = shared.agent.clone().observer(ReplayObserver(Arc::clone(&buffer))).operator(Suspend);
        let agent = agent.edit_context(|cx| cx.with_principal(by).with_cancellation(signal));
        let shared = Arc::clone(shared);
        let (single_use, permit, decisions) = Default::default();
        Ok(Self {
            shared,
            form,
            name,
            principal,
            single_use,
            guard,
            request_lock,
            permit,
            agent,
            decisions,
            buffer,
            cancel,
        })
    }

    /// Acquires the permit for an active response. A request does so before its first effect.
    ///
    /// Fails when the principal has too many active responses.
    pub(crate) fn acquire_permit(&mut self) -> Result<(), ApiError> {
        self.permit = Some(self.guard.acquire_permit(&self.principal, self.shared.max_responses)?);
        Ok(())
    }

    /// Returns the chat's agent for this request. It acts for the principal, and its events go into the response.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns whether the server refused an earlier message with this content.
    pub(crate) fn leaves_out(&self, content: &[Part]) -> bool {
        self.shared.leaves_out(content)
    }

    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Changes the agent for this request, for example to add the tools that the request brings.
    pub(crate) fn change_agent(&mut self, change: impl FnOnce(Agent) -> Agent) {
        self.agent = change(self.agent.clone());
    }

    /// Returns a function that makes the response's encoder write its pending data: bytes that it holds back, and data of tools
    /// that are not events.
    pub(crate) fn flush_fn(&self) -> impl Fn() + Send + Sync + use<> {
        let buffer = Arc::downgrade(&self.buffer);
        move || {
            if let Some(buffer) = buffer.upgrade() {
                buffer.flush();
            }
        }
    }

    /// Returns the response in progress that this request can join: the request's decisions then reach the run's driver. Returns
    /// `None` if there is none in the request's form. Also returns `None` if clients keep the runs, because each client then
    /// has a copy of its own.
    pub(crate) fn joinable(&self) -> Option<Arc<ChatResponse>> {
        if self.is_stateless() { None } else { self.guard.active_in(&self.form) }
    }

    /// Returns whether a response to the stored chat is in progress here, in any form.
    pub(crate) fn is_being_answered(&self) -> bool {
        !self.is_stateless() && self.guard.active().is_some()
    }

    /// Cancels the active response, and waits until it has ended, with those that follow it.
    ///
    /// Fails when a response whose run is stored has not ended after [`CANCEL_TIMEOUT`].
    pub(crate) async fn cancel_active(&self) -> Result<(), ApiError> {
        let responses = self.guard.responses();
        self.guard.cancel();
        let all_over = async {
            for response in responses {
                response.wait_until_over().await;
            }
        };
        if self.is_stateless() {
            // A single-use sealed run is spent by now, so this request must go on, however long the wait is.
            all_over.await;
            return Ok(());
        }
        let busy = || ApiError::conflict("the previous answer is still being cancelled; try again in a moment");
        tokio::time::timeout(CANCEL_TIMEOUT, all_over).await.map_err(|_| busy())
    }

    /// Waits for the permit to load a run into memory, as [`Shared::acquire_load`] does.
    pub(super) async fn acquire_load(&self) -> Result<Place, ApiError> {
        self.shared.acquire_load(&self.principal).await
    }

    /// Opens the chat's latest run. Returns `None` if the chat has no run yet.
    pub(crate) async fn open(&self) -> Result<Option<Session>, ApiError> {
        let _permit = self.acquire_load().await?;
        self.open_permitted().await
    }

    /// Opens the chat's latest run, like [`Chat::open`]. The caller must hold a permit to load.
    pub(super) async fn open_permitted(&self) -> Result<Option<Session>, ApiError> {
        if self.agent.run_store().is_none() {
            return Ok(None);
        }
        match self.latest_generation().await? {
            0 => Ok(None),
            generation => {
                let session = self.agent.open(&self.run_id(generation)).await?;
                if *session.run().owner() != self.principal {
                    let text = format!("it is of {}, and the chat is of {}", session.run().owner(), self.principal);
                    return Err(AgentError::Store(StoreError::Record(RecordError::Malformed(text))).into());
                }
                Ok(has_name(&self.agent, session.run().made_by().unwrap_or_default()).then_some(session))
            }
        }
    }

    /// Creates a run that begins with the messages of a conversation that the server does not know.
    pub(crate) async fn create(&self, messages: Vec<Message>) -> Result<Session, ApiError> {
        let (id, agent) = (self.next_run_id(), self.agent.clone());
        let bytes = messages.len() * MIN_MESSAGE_BYTES;
        run_sized(bytes, move || agent.session_with_id(id, messages)).await
    }

    /// Creates a run that takes the place of the run of `session`, and begins with the messages of another conversation. Cancels the
    /// run of `session` first.
    pub(crate) async fn replace(&self, mut session: Session, messages: Vec<Message>) -> Result<Session, ApiError> {
        cancel_open(&mut session).await?;
        let (id, agent) = (self.next_run_id(), self.agent.clone());
        let bytes = messages.len() * MIN_MESSAGE_BYTES;
        run_sized(bytes, move || agent.replace(id, session.run(), messages)).await
    }

    /// Creates a run with the conversation as it was before the prompt with number `prompt`.
    pub(crate) fn branch(&self, run: &Run, prompt: usize) -> Session {
        self.agent.branch(self.next_run_id(), run, prompt)
    }

    /// Sends a message to the run in progress. The run accepts it between two of its next turns.
    ///
    /// Fails when no run is in progress.
    pub(crate) async fn steer(&self, id: Option<String>, content: Vec<Part>) -> Result<(), ApiError> {
        let idle = || ApiError::conflict("nothing is being answered in this chat; send the message as a new one");
        if self.is_stateless() {
            let active = self.guard.active().ok_or_else(idle)?;
            let is_sent = active.steering.as_ref().is_some_and(|steering| steering.say_parts(content));
            return if is_sent { Ok(()) } else { Err(idle()) };
        }
        let run = match self.latest_generation().await? {
            0 => return Err(idle()),
            generation => self.run_id(generation),
        };
        match self.agent.steer_with_id(&run, id, content, self.principal.clone()).await {
            Err(AgentError::Refused(Refusal::NotActive)) => Err(idle()),
            steered => {
                self.wake_driver();
                Ok(steered.map(drop)?)
            }
        }
    }

    /// Makes the run's driver in this process, if there is one, read the store at once.
    fn wake_driver(&self) {
        if let Some(active) = self.guard.active() {
            active.driver.poll_store();
        }
    }

    /// Submits a decision of an interrupt in `session`, and wakes the run's driver. If the client's output does not fit the
    /// schema, the call fails, because the client cannot repair the output. The model reads the failure, and the chat goes on.
    ///
    /// Fails when the store is not available.
    pub(crate) async fn decide(
        &mut self,
        session: &mut Session,
        interrupt: &InterruptId,
        decision: Decision,
    ) -> Result<DecisionOutcome, ApiError> {
        let is_output = matches!(decision, Decision::Respond { .. });
        let Some(refusal) = self.decide_once(session, interrupt, decision).await? else {
            return Ok(DecisionOutcome::Accepted);
        };
        if is_output && let Refusal::Invalid { feedback } = &refusal {
            let error = format!("the client's output does not fit: {feedback}");
            if self.decide_once(session, interrupt, Decision::Fail { error }).await?.is_none() {
                return Ok(DecisionOutcome::AsFailure(refusal));
            }
        }
        Ok(DecisionOutcome::Refused(refusal))
    }

    /// Submits a decision. Returns the run's refusal, if the run does not accept it.
    async fn decide_once(
        &mut self,
        session: &mut Session,
        interrupt: &InterruptId,
        decision: Decision,
    ) -> Result<Option<Refusal>, ApiError> {
        let accepted = self.single_use.is_some().then(|| decision.clone());
        let decided = if self.agent.run_store().is_none() {
            session.decide(interrupt, decision, self.principal.clone()).await
        } else {
            // The session does not see the decision yet. It reads the decision from the store when it is driven.
            let mut decisions = match self.decisions.take().filter(|known| known.run().id() == session.id()) {
                Some(decisions) => decisions,
                None => Box::new(LoadedRun::copy_of(session.run())?),
            };
            let decided = self.agent.decide_in(&mut decisions, interrupt, decision, self.principal.clone()).await;
            self.decisions = Some(decisions);
            self.wake_driver();
            decided
        };
        match decided {
            Ok(()) => {
                if let (Some(single_use), Some(decision)) = (&self.single_use, accepted) {
                    single_use.note_decision(&decision);
                }
                Ok(None)
            }
            Err(AgentError::Refused(refusal)) => Ok(Some(refusal)),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn run_id(&self, generation: u32) -> RunId {
        let made_by = lock(&self.guard.made_by);
        let made_by = made_by.as_deref().or(self.agent.names().next()).unwrap_or_default();
        run_id(generation, made_by, &self.name)
    }

    /// Returns the id of the run after the one that this request has opened. If another server has begun that run meanwhile,
    /// both append to one log, so a request that was sent to both is recognized.
    fn next_run_id(&self) -> RunId {
        self.run_id(self.guard.generation.load(Ordering::SeqCst) + 1)
    }

    /// Returns whether the chat has a run. If so, finds out which name the agent had when it made the first one.
    async fn has_run(&self) -> Result<bool, ApiError> {
        for name in self.agent.names() {
            if self.exists(&run_id(1, name, &self.name)).await? {
                *lock(&self.guard.made_by) = Some(name.to_owned());
                return Ok(true);
            }
        }
        *lock(&self.guard.made_by) = None;
        Ok(false)
    }

    /// Returns the number of the chat's latest run; 0 if there is none. Each edited message and each regenerated response begins
    /// another run.
    pub(super) async fn latest_generation(&self) -> Result<u32, ApiError> {
        let known = self.guard.generation.load(Ordering::SeqCst);
        if known == 0 && !self.has_run().await? {
            return Ok(0);
        }
        let (mut latest, mut step) = (known.max(1), 1);
        while self.exists(&self.run_id(latest + step)).await? {
            latest += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if self.exists(&self.run_id(latest + step)).await? {
                latest += step;
            }
        }
        self.guard.generation.store(latest, Ordering::SeqCst);
        Ok(latest)
    }

    pub(super) async fn exists(&self, run: &RunId) -> Result<bool, ApiError> {
        let Some(store) = self.agent.run_store() else { return Ok(false) };
        // A read past the end of a log returns no entries. It is an error only if there is no log.
        match store.read(run, u64::from(u32::MAX)).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound) => Ok(false),
            Err(error) => Err(AgentError::Store(error).into()),
        }
    }
}

/// The result of a decision.
#[derive(Debug)]
pub(crate) enum DecisionOutcome {
    /// The run accepted it.
    Accepted,
    /// The output does not fit the schema, for this reason, and the call has failed.
    AsFailure(Refusal),
    /// The run refused it, and nothing has changed.
    Refused(Refusal),
}

/// Cancels the run of `session`, if it is in progress or suspended. The chat abandons the run.
pub(crate) async fn cancel_open(session: &mut Session) -> Result<(), ApiError> {
    if matches!(session.run().phase(), Phase::Generating | Phase::Acting | Phase::Suspended) {
        session.cancel().await?;
    }
    Ok(())
}

/// Returns the name of a chat's runs. Names of different principals always differ, whatever the ids are.
pub(crate) fn run_name(principal: &Principal, id: &str) -> Result<String, ApiError> {
    if id.is_empty() || id.len() > MAX_ID_BYTES || id.chars().any(char::is_control) {
        return Err(ApiError::bad_request(format!(
            "a chat's id is a string of 1 to {MAX_ID_BYTES} bytes, without control characters"
        )));
    }
    let principal = principal.as_str();
    Ok(format!("{}:{principal}:{id}", principal.len()))
}

/// Returns the id of a run of the chat `name`. It contains the name of the agent that made the chat's first run, if there is one.
/// So the chats of several applications in one store are apart.
fn run_id(generation: u32, made_by: &str, name: &str) -> RunId {
    if made_by.is_empty() {
        return format!("{generation}:{name}").into();
    }
    format!("{generation}:@{}:{made_by}:{name}", made_by.len()).into()
}

/// The chat that a run belongs to, as the run's id names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChatName<'a> {
    /// The name of the agent that made the chat's first run; empty if it had none.
    pub(super) made_by: &'a str,
    pub(super) principal: &'a str,
    pub(super) id: &'a str,
}

/// Returns the chat that a run belongs to. Returns `None` if the run's id is not from a server of this crate.
pub(super) fn chat_of(run: &RunId) -> Option<ChatName<'_>> {
    /// Splits `LENGTH:NAME:REST`.
    fn split_name(text: &str) -> Option<(&str, &str)> {
        let (length, rest) = text.split_once(':')?;
        let (name, rest) = rest.split_at_checked(length.parse().ok()?)?;
        Some((name, rest.strip_prefix(':')?))
    }
    let (generation, rest) = run.as_str().split_once(':')?;
    let (made_by, rest) = rest.strip_prefix('@').map_or(Some(("", rest)), split_name)?;
    let (principal, id) = split_name(rest)?;
    let name = run_name(&principal.into(), id).ok()?;
    (*run == run_id(generation.parse().ok()?, made_by, &name)).then_some(ChatName { made_by, principal, id })
}

/// Returns whether `name` is the agent's present name, or one that it had before.
pub(crate) fn has_name(agent: &Agent, name: &str) -> bool {
    agent.names().any(|own| own == name)
}

/// The beginning of a response.
#[derive(Debug)]
pub(crate) enum Start {
    /// With a prompt. If `settle` is set, calls with a decision end first. If `is_shown` is set, the events of these calls
    /// are part of the response.
    Prompt { settle: bool, is_shown: bool, prompt: Prompted },
    /// With the run's next action, without a prompt.
    Resume,
    /// With the prompt to which another server responds, if there is one.
    Follow { prompt: Option<Prompted> },
}

/// The treatment of a response whose readers have all left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLeave {
    /// The run is cancelled as soon as the calls that have a decision have ended.
    Cancel,
    /// The response goes on, and clients can read it later.
    GoOn,
}

impl Chat {
    /// Drives `session` on a separate task, and returns the stream that `encoder` writes. Late readers get `preamble` in place of
    /// the response's beginning.
    ///
    /// Fails when another request has spent the sealed run meanwhile, or when the new message does not fit into it. Then nothing was
    /// done.
    pub(crate) async fn respond(
        self,
        mut session: Session,
        start: Start,
        encoder: Box<dyn Encoder>,
        preamble: Option<Vec<u8>>,
        on_leave: OnLeave,
    ) -> Result<Response, ApiError> {
        if let Start::Prompt { prompt, .. } = &start {
            self.shared.check_room_in_seal(session.run(), &prompt.content)?;
        }
        let active = ChatResponse::new(self.form, Arc::clone(&self.buffer), self.cancel, &mut session, &start);
        self.guard.add_response(Arc::clone(&active));
        let driver = session.handle();
        let on_readers: OnReaders =
            Box::new(move |have_left| if have_left { driver.client_left() } else { driver.client_returned() });
        self.buffer.begin(encoder, preamble, (on_leave == OnLeave::Cancel).then_some(on_readers));
        let response = event_stream(self.buffer.read(false));
        // The chat stays locked until the sealed run is spent or the run is at rest. So the next request finds the sealed run
        // either spent or unused.
        let spent = self
            .single_use
            .as_ref()
            .map(|single_use| single_use.before_next_effect(&mut session, Some(self.request_lock)));
        let task = ResponseTask {
            session,
            end: EndOnDrop { guard: self.guard, active: Arc::clone(&active) },
            shared: self.shared,
            principal: self.principal,
            permit: self.permit,
            single_use: self.single_use,
        };
        active.set_task(tokio::spawn(task.drive(start)).abort_handle());
        if let Some(spent) = spent {
            spent.await.map_err(|error| ApiError::internal().cause(&error))?.map_err(seal_error)?;
        }
        Ok(response)
    }
}

/// Runs `work` on a separate task, which goes on if the connection is lost. `work` contains all effects that must not be
/// separated, such as a decision and the start of the approved call.
pub(crate) async fn detach<T: Send + 'static>(work: BoxFuture<'static, Result<T, ApiError>>) -> Result<T, ApiError> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(ApiError::internal()),
        },
    }
}

impl ChatResponse {
    /// Returns the response from its beginning, or `None` if its beginning is no longer kept.
    pub(crate) fn replay(&self) -> Option<Response> {
        self.buffer.replay(None, Vec::new()).map(event_stream)
    }

    /// Returns the response for a client that may have any part of the chat. `messages` are frames with the conversation before the
    /// response. Frames that name a request name `request`, if it is given. Returns `None` if the beginning of the response is
    /// no longer kept.
    pub(crate) fn connect(&self, request: Option<String>, messages: Vec<Bytes>) -> Option<Response> {
        self.buffer.replay(request, messages).map(event_stream)
    }

    /// Returns the response for a request that joins it, because the request submitted a decision or was sent twice. Frames
    /// that name a request name `request`, if it is given. Fails when the beginning of the response is no longer kept.
    pub(crate) fn join(&self, request: Option<String>) -> Result<Response, ApiError> {
        self.buffer.replay(request, Vec::new()).map(event_stream).ok_or_else(is_being_processed)
    }

    /// Returns the response for a request that joins it and continues the same message, with `opening` as its first frames. If
    /// the response does not continue a message, returns it from its beginning. Fails when that is no longer kept.
    pub(crate) fn join_message(&self, opening: Vec<u8>) -> Result<Response, ApiError> {
        match self.buffer.replay_after(opening) {
            Some(continued) => Ok(event_stream(continued)),
            None => self.join(None),
        }
    }
}

struct ResponseTask {
    session: Session,
    permit: Option<Arc<ResponsePermit>>,
    end: EndOnDrop,
    shared: Arc<Shared>,
    principal: Principal,
    /// The opening of the sealed run, if the run is single-use.
    single_use: Option<Arc<SingleUse>>,
}

impl ResponseTask {
    async fn drive(mut self, start: Start) {
        let active = Arc::clone(&self.end.active);
        let mut done = begin(&mut self.session, start, &active.buffer).await;
        active.at_rest.store(true, Ordering::SeqCst);
        if let Some(single_use) = &self.single_use {
            single_use.settle(self.session.run()).await;
        }
        loop {
            // A request that submits a decision while a response is in progress leaves the driving to that response. So the
            // response ends only when no request holds the lock and no decision is left to apply.
            let request_lock = tokio::select! {
                request_lock = self.end.guard.lock_for_request() => Some(request_lock),
                () = active.cancel.cancelled() => None,
            };
            if done.is_err() || request_lock.is_none() || !self.is_behind().await {
                self.end(done.as_ref().err());
                return;
            }
            active.at_rest.store(false, Ordering::SeqCst);
            drop(request_lock);
            done = self.session.follow().await.map(drop);
            active.at_rest.store(true, Ordering::SeqCst);
        }
    }

    /// Returns whether a decision or a message has arrived since the run was last driven.
    async fn is_behind(&self) -> bool {
        if self.session.has_unread_message() {
            return true;
        }
        let run = self.session.run();
        let Some(store) = self.session.agent().run_store().filter(|_| run.phase() == Phase::Suspended) else {
            return false;
        };
        store.read(run.id(), run.rev()).await.is_ok_and(|records| !records.is_empty())
    }

    fn end(&mut self, failure: Option<&AgentError>) {
        // A client that has read the end may begin another response.
        self.permit = None;
        let run = self.session.run();
        let sealed =
            self.shared.seals.as_ref().map(|seals| seals.seal(run, &self.principal, self.single_use.as_deref()));
        self.end.active.buffer.end(End::new(Some(run), failure).with_sealed(sealed.as_deref()));
        self.end.guard.remove_response(&self.end.active);
    }
}

async fn begin(session: &mut Session, start: Start, buffer: &ReplayBuffer) -> Result<(), AgentError> {
    match start {
        Start::Prompt { settle, is_shown, prompt } => {
            if settle {
                // These calls belong to an earlier message. In some protocols, a response cannot change an earlier message.
                buffer.mute(!is_shown);
                session.run_pending_calls().await?;
                buffer.mute(false);
            }
            send(session, prompt).await?;
        }
        Start::Resume | Start::Follow { .. } => {
            // Another server may drive the run, and do what the request decided.
            session.follow().await?;
        }
    }
    Ok(())
}

/// Sends a prompt. If another server drives the run because it got the same request, follows the run there.
async fn send(session: &mut Session, prompt: Prompted) -> Result<(), AgentError> {
    let Prompted { id, content, key } = prompt;
    let Some(key) = key else { return session.send_with_id(id, content).await.map(drop) };
    let until = Instant::now() + REPEAT_WAIT;
    loop {
        let error = match session.send_once(id.clone(), content.clone(), &key).await {
            Err(error @ AgentError::Store(StoreError::Leased { .. })) => error,
            sent => return sent.map(drop),
        };
        let run = session.agent().load_run(session.id()).await?.into_run();
        if repeated_prompt(&run, &key).is_some() {
            return session.follow().await.map(drop);
        }
        // The other server may have the right to drive the run, and not yet the prompt in the log.
        if run.prompts().len() > session.run().prompts().len() || Instant::now() > until {
            return Err(error);
        }
        sleep(PAUSE).await;
    }
}

/// A guard that ends the response when its task stops without ending it.
struct EndOnDrop {
    guard: ChatGuard,
    active: Arc<ChatResponse>,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.active.buffer.end(End::new(None, None));
        self.guard.remove_response(&self.active);
    }
}
