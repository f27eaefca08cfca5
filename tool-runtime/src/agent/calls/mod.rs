//! The calls of a run: their checks, their repairs, and their execution on tasks of their own.

mod journal;
mod repair;
mod task;
mod thread;
mod watch;

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
    time::Duration,
};

use serde::Serialize;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::Instant,
};

use crate::agent::{
    Agent, AgentError, Observer,
    ask::CheckedAnswer,
    driver::Driver,
    observers::{self, FailureDetail, Observers},
    secrets::Restart,
};
use crate::gate::{Gate, ReadArguments};
use crate::run::{Call, CallId, Run, StopReason, Timestamp};
use crate::sync::lock;
use crate::tool::{
    CallError, CallFuture, Cancellation, Context, ErasedTool, Failure, Journal as _, Output, QuestionAnswer,
};
use crate::toolset::{Prepared, ReadCall, Reading, Toolset};
pub use journal::CallJournal;
use journal::{CallRequest, Channels, ReplySender};
pub use repair::{InvalidCall, RepairedCall, Repairer};
use repair::{RepairOutcome, Repairs};
use task::CallTask;
use tool_run::run::{LogInput, Stage};

/// The longest time of validators if the tool sets no limit.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);

/// The capacity that the empty list of ready calls keeps.
const KEPT_READY: usize = 4;

/// The calls that this process checks, repairs or runs, and those that wait for an answer in the middle of their work.
pub struct Calls {
    agent: Agent,
    gate: Gate,
    checks: CheckTasks,
    /// The repairs under way, if the agent has a repairer.
    repairs: Option<Repairs>,
    /// Calls whose arguments were read, and that may start at once; usually in the order of their starts.
    ready: VecDeque<ReadyCall>,
    running: HashMap<CallId, RunningCall, foldhash::fast::RandomState>,
    /// The time of the next look for calls that exceed a limit. None can be over before it, but all may end before it.
    next_look: Option<Instant>,
    /// Set if a call has started since the last call of [`Calls::take_started`].
    has_started: bool,
    /// The reason of a call that blocks the run.
    blocked: Option<StopReason>,
    channels: Arc<Channels>,
    /// The requests that are held back, because their call waits for the answer to an earlier one.
    held: Vec<CallRequest>,
}

/// A call whose arguments were read.
pub struct CallToJudge {
    call: CallId,
    read: ReadCall,
    /// The means to run it, if it starts at once.
    control: CallControl,
}

/// The means to run a call.
pub struct CallControl {
    journal: Arc<CallJournal>,
    stop: Cancellation,
}

/// A call that was read, with the means to run it.
struct ReadyCall {
    text: Arc<str>,
    prepared: Prepared,
    control: CallControl,
}

/// Work that was done before a call may start.
pub enum CheckOutcome {
    Decoded(Box<CallToJudge>),
    Repaired(Box<RepairOutcome>),
}

/// The checks whose validators are still running, and the repairs. Dropping this value aborts them.
pub struct CheckTasks {
    /// `None` before the first, because most runs have none.
    tasks: Option<JoinSet<()>>,
    channels: Arc<Channels>,
}

impl CheckTasks {
    /// Starts `work`, which reports its outcome. Panics of validators and repairers are caught, so only a destructor can
    /// prevent the outcome. Then the call is checked again when the run is loaded.
    pub fn spawn(&mut self, work: impl Future<Output = CheckOutcome> + Send + 'static) {
        let channels = Arc::clone(&self.channels);
        self.tasks.get_or_insert_default().spawn(async move { channels.reports.send_check(work.await) });
    }

    /// Removes the tasks that have ended.
    fn remove_ended(&mut self) {
        while self.tasks.as_mut().and_then(JoinSet::try_join_next).is_some() {}
    }
}

impl Calls {
    /// Creates the calls of a run of `agent`, which `gate` checks.
    pub fn new(agent: &Agent, gate: &Gate, observer: Arc<dyn Observer>) -> Self {
        let (operator, around) = (Arc::clone(&agent.setup.operator), agent.setup.outer_call.clone());
        let channels = Arc::new(Channels { reports: CallReports::default(), observer, operator, around });
        Self {
            agent: agent.clone(),
            gate: gate.clone(),
            checks: CheckTasks { tasks: None, channels: Arc::clone(&channels) },
            repairs: agent.setup.repair.clone().map(Repairs::new),
            ready: VecDeque::new(),
            running: HashMap::default(),
            next_look: None,
            has_started: false,
            blocked: None,
            channels,
            held: Vec::new(),
        }
    }

    /// Returns whether a call has started since the last call of this method.
    pub fn take_started(&mut self) -> bool {
        std::mem::take(&mut self.has_started)
    }

    /// Returns the name and the reason of a failure that blocks the run, once.
    pub fn take_blocked(&mut self) -> Option<StopReason> {
        self.blocked.take()
    }

    /// Returns whether a call, a check or a repair has sent something.
    pub fn has_message(&self) -> bool {
        lock(&self.channels.reports.0).has_any()
    }

    /// Waits until a call, a check or a repair has sent something. Cancel safe.
    pub async fn wait_for_message(&self) {
        self.channels.reports.wait_for_message().await;
    }

    /// Receives the ends of calls, and the results of checks and repairs. If these lead to no entry, it also receives a request.
    /// Otherwise, the request waits for the next pass of the loop, so that the entries get an append of their own.
    pub async fn receive(&mut self, driver: &mut Driver<'_>, observers: &mut Observers) -> Result<(), AgentError> {
        self.take_ended(driver, observers);
        for outcome in self.channels.reports.take_checks() {
            match outcome {
                CheckOutcome::Decoded(checked) => {
                    let cx = driver.stored.context(&checked.call);
                    self.judge(*checked, &cx, driver.now(), driver, observers);
                }
                CheckOutcome::Repaired(repaired) => {
                    if let Some(repairs) = &mut self.repairs {
                        repairs.finish(*repaired, driver);
                    }
                }
            }
        }
        self.checks.remove_ended();
        if !driver.has_pending_work() {
            self.take_request(driver, observers).await?;
        }
        Ok(())
    }

    /// Checks a call at the time `at`: its tool reads the arguments, and the policies judge it.
    pub fn check(&mut self, id: &CallId, at: Timestamp, driver: &mut Driver<'_>, observers: &mut Observers) {
        let Some(call) = driver.run().call(id) else { return };
        if !matches!(call.stage(), Stage::Proposed | Stage::Ready | Stage::Open) {
            return;
        }
        let tool = self.gate.tools().get(&call.name);
        let (control, cx) = self.new_control(call, tool, driver);
        match self.gate.read(call, cx.clone()) {
            Reading::Done(read) => {
                let checked = CallToJudge { call: id.clone(), read, control };
                self.judge(checked, &cx, at, driver, observers);
            }
            pending @ Reading::Pending(_) => {
                let reading = read_in_time(self.gate.tools(), &call.name, pending);
                let call = id.clone();
                self.checks.spawn(observers::in_current_span(async move {
                    CheckOutcome::Decoded(Box::new(CallToJudge { call, read: reading.await, control }))
                }));
            }
        }
    }

    /// Returns the means to run a call, and its context.
    fn new_control(
        &self,
        call: &Call,
        tool: Option<&Arc<dyn ErasedTool>>,
        driver: &Driver<'_>,
    ) -> (CallControl, Context) {
        let limit = tool.and_then(|tool| tool.spec().options.timeout);
        let journal = Arc::new(CallJournal::new(call.id.clone(), Arc::clone(&self.channels), limit));
        let stop = Cancellation::new();
        let cx = driver.stored.call_context(&call.id, stop.clone(), Arc::clone(&journal) as _);
        (CallControl { journal, stop }, cx)
    }

    /// Judges a call whose arguments were read, and records the result in the log.
    fn judge(
        &mut self,
        checked: CallToJudge,
        cx: &Context,
        at: Timestamp,
        driver: &mut Driver<'_>,
        observers: &mut Observers,
    ) {
        let CallToJudge { call: id, read: ReadCall { read, prepared }, control } = checked;
        let Some(call) = driver.run().call(&id) else { return };
        let text = Arc::clone(&read.text);
        if let Some(cause) = read.cause() {
            observers.add_detail(&id, FailureDetail { error: Some(cause), ..FailureDetail::default() });
        }
        let read = ReadArguments { outcome: read.outcome.map_err(|error| self.explain(call, error)), ..read };
        let checked = self.gate.judge(driver.run(), call, read, cx);
        let is_refused = self.agent.setup.checked_answer.as_deref().and_then(CheckedAnswer::stop_reason).is_some();
        let checked = match &mut self.repairs {
            Some(repairs) if !is_refused => {
                repairs.begin(&mut self.checks, &self.agent, &self.gate, &id, checked, driver)
            }
            _ => Some(checked),
        };
        let Some(checked) = checked else { return };
        driver.record(LogInput::Checked { call: id.clone(), checked, at });
        // If a call does not start at once, its tool reads the arguments again at the start, because much may have changed by
        // then. A tool also reads arguments again that a validator has changed, because its answer reports the changes.
        let is_changed = |call: &Call| call.is_revised() && call.arguments().by.is_none();
        if let Some(prepared) = prepared
            && driver.run().call(&id).is_some_and(|call| call.stage() == Stage::Running && !is_changed(call))
        {
            self.ready.push_back(ReadyCall { text, prepared, control });
        }
    }

    /// Adds the text for the model to the rejection of a call.
    fn explain(&self, call: &Call, error: CallError) -> CallError {
        let format = self.agent.setup.model.feedback_format();
        self.gate.tools().explain(&call.name, &call.arguments().text, error, format)
    }

    /// Starts a call, or continues it with the answer that it waits for.
    pub fn execute(&mut self, id: CallId, attempt: u32, driver: &Driver<'_>, observers: &mut Observers) {
        let call = driver.run().call(&id).filter(|call| call.stage() == Stage::Running);
        let Some(call) = call else { return };
        if let Some(answered) = call.answers().last()
            && let Some(running) = self.running.get_mut(&id)
            && running.answer(attempt, answered.answer.clone())
        {
            self.next_look = earlier(self.next_look, running.deadline(Instant::now()));
            return self.release_held(&id);
        }
        let Some(tool) = self.gate.tools().get(&call.name) else { return };
        let ready = self.ready.iter().position(|ready| ready.control.journal.call == id);
        let ready = ready.and_then(|at| self.ready.remove(at));
        let wait = retry_wait(call.retries);
        // After a wait, the tool reads the arguments again.
        let ready = ready.filter(|ready| wait.is_zero() && Arc::ptr_eq(&ready.text, &call.arguments().text));
        if self.ready.is_empty() {
            self.ready.shrink_to(KEPT_READY);
        }
        let (span, blocking) = (observers.trace.started(call, tool.spec()), tool.spec().options.blocking);
        let (control, work) = match ready {
            // The call continues after the pause in `toolset::prepared::read_then_run`.
            Some(ReadyCall { prepared, control, .. }) => (control, prepared.run()),
            None => {
                let (control, cx) = self.new_control(call, Some(tool), driver);
                let cx = if call.is_revised() { cx.revised() } else { cx };
                let (tool, arguments) = (Arc::clone(tool), Arc::clone(&call.arguments().text));
                let limit = tool.spec().options.timeout.unwrap_or(CHECK_TIMEOUT);
                let restart = Restart { tool, arguments, cx, limit };
                let work = self.run_again(restart, wait, driver.run(), &control.journal);
                (control, work)
            }
        };
        let CallControl { journal, stop } = control;
        journal.start_attempt(attempt, call, &**tool, driver);
        let task = if blocking {
            let work = Box::pin(thread::with_threads(Box::pin(observers::in_call_span(span, work))));
            tokio::spawn(CallTask::new(work, Arc::clone(&journal)))
        } else {
            tokio::spawn(observers::in_call_span(span, CallTask::new(work, Arc::clone(&journal))))
        };
        let wait_end =
            self.agent.setup.timeouts.start.and_then(|limit| Instant::now().checked_add(wait.saturating_add(limit)));
        // Calls that start together are added without growing the map in between.
        self.running.reserve(self.ready.len() + 1);
        let running = RunningCall { journal, first: attempt, stop, task, wait_end, paused_since: None, reply: None };
        if running.wait_end.is_some() || running.journal.limit().is_some() {
            self.next_look = earlier(self.next_look, running.deadline(Instant::now()));
        }
        self.running.insert(id, running);
        self.has_started = true;
    }

    /// Returns the work of a call that was accepted earlier, maybe in another process, that failed before, or that needs secrets. Its
    /// tool reads the arguments again.
    fn run_again(&self, call: Restart, wait: Duration, run: &Run, journal: &Arc<CallJournal>) -> CallFuture<'static> {
        let secrets = self.agent.setup.secrets.clone();
        let secrets = secrets.map(|secrets| (secrets, self.agent.caller_of(run), Arc::clone(journal)));
        Box::pin(async move {
            if !wait.is_zero() {
                // Boxed, so that calls that do not wait are small.
                Box::pin(tokio::time::sleep(wait)).await;
            }
            match secrets {
                Some((secrets, caller, journal)) => Box::pin(secrets.run(call, caller, journal)).await,
                None => call.run().await,
            }
        })
    }

    pub fn abort(&mut self, id: &CallId, observers: &mut Observers) {
        observers.trace.aborted(id);
        self.running.remove(id);
    }

    /// Aborts the calls that others have ended.
    pub fn abort_ended_elsewhere(&mut self, driver: &Driver<'_>, observers: &mut Observers) {
        self.ready.clear();
        let is_over = |id: &CallId| driver.run().call(id).is_none_or(|call| call.result().is_some());
        let over: Vec<_> = self.running.keys().filter(|id| is_over(id)).cloned().collect();
        for id in over {
            self.abort(&id, observers);
        }
    }

    /// Returns the time at which a call may exceed its limit. No call does before.
    pub fn deadline(&self) -> Option<Instant> {
        self.next_look
    }

    /// Withdraws the calls whose functions have not begun. Call this before an input that may end all running calls: the log then
    /// says that these calls did not run.
    pub fn withdraw_waiting(&mut self, driver: &mut Driver<'_>, observers: &mut Observers) {
        for id in running_calls(driver) {
            let may = driver.run().call(&id).is_some_and(Call::may_be_withdrawn);
            if may && self.running.get(&id).is_some_and(|running| running.journal.close_waiting()) {
                self.withdraw(id, None, driver, observers);
            }
        }
    }

    /// Withdraws the calls whose functions have not begun, before an input that ends all running calls. Those that may have run
    /// at an earlier start do not begin any more.
    pub fn close_waiting(&mut self, driver: &mut Driver<'_>, observers: &mut Observers) {
        self.withdraw_waiting(driver, observers);
        for id in running_calls(driver) {
            if let Some(running) = self.running.get(&id) {
                running.journal.close_waiting();
            }
        }
    }

    /// Drops a call whose function never begins. With an `error`, it ends because of that. Otherwise it is checked again, unless
    /// the run ends it meanwhile.
    fn withdraw(&mut self, call: CallId, error: Option<CallError>, driver: &mut Driver<'_>, observers: &mut Observers) {
        let Some(running) = self.running.remove(&call) else { return };
        observers.trace.aborted(&call);
        driver.record(LogInput::Withdrawn { call, attempt: running.journal.attempt(), error, at: driver.now() });
    }

    /// Ends the calls that exceed their time limits, even if they do not cooperate.
    pub fn end_overdue(&mut self, driver: &mut Driver<'_>, observers: &mut Observers) {
        // A call that ended just in time is not too late.
        self.take_ended(driver, observers);
        let now = Instant::now();
        // A look at every call at each event of a run of many calls would cost more than the calls.
        if self.next_look.is_none_or(|next| now < next) {
            return;
        }
        let is_over = |running: &RunningCall| running.deadline(now).is_some_and(|deadline| deadline <= now);
        let over: Vec<CallId> =
            self.running.iter().filter(|(_, running)| is_over(running)).map(|(id, _)| id.clone()).collect();
        for call in over {
            let Some(running) = self.running.get(&call) else { continue };
            if running.wait_end.is_some_and(|end| end <= now) && running.journal.close_waiting() {
                let limit = self.agent.setup.timeouts.start.unwrap_or_default();
                self.withdraw(call, Some(CallError::waited_too_long(limit)), driver, observers);
                continue;
            }
            // A function that began in this moment has its whole limit.
            let begun = running.journal.begun_at().filter(|_| is_over(running));
            let (Some(limit), Some(_)) = (running.journal.limit(), begun) else { continue };
            let journal = Arc::clone(&running.journal);
            self.running.remove(&call);
            record_end(call, &journal, Err(CallError::TimedOut { limit }), driver, observers);
        }
        self.next_look = self.running.values().filter_map(|running| running.deadline(now)).min();
    }

    /// Records the calls that have ended already, so that they go into the same append.
    pub fn take_ended(&mut self, driver: &mut Driver<'_>, observers: &mut Observers) {
        for TaskEnd { journal, outcome } in self.channels.reports.take_ended() {
            let Some((call, running)) = self.running.remove_entry(&journal.call) else { continue };
            if Arc::ptr_eq(&running.journal, &journal) {
                let outcome = match (outcome, driver.run().call(&call)) {
                    (Err(error), Some(call)) => Err(self.explain(call, error)),
                    (outcome, _) => outcome,
                };
                if let Err(CallError::Failed(failure)) = &outcome
                    && let Some(by) = failure.blocked_by()
                {
                    let reason = StopReason::Blocked { by: by.to_owned(), reason: failure.for_model().to_owned() };
                    self.blocked.get_or_insert(reason);
                }
                record_end(call, &journal, outcome, driver, observers);
            } else {
                // A task that was aborted may still end. Meanwhile, its call was started again.
                self.running.insert(call, running);
            }
        }
    }

    /// Handles a request that a call has sent already. Returns whether there was one.
    pub async fn take_request(
        &mut self,
        driver: &mut Driver<'_>,
        observers: &mut Observers,
    ) -> Result<bool, AgentError> {
        let Some(request) = self.channels.reports.take_request() else { return Ok(false) };
        self.receive_request(*request, driver, observers).await?;
        Ok(true)
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.running.clear();
        self.channels.reports.close();
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

fn running_calls(driver: &Driver<'_>) -> Vec<CallId> {
    let is_running = |call: &&Call| call.stage() == Stage::Running;
    driver.run().current_calls().iter().filter(is_running).map(|call| call.id.clone()).collect()
}

fn record_end(
    call: CallId,
    journal: &CallJournal,
    outcome: Result<Output, CallError>,
    driver: &mut Driver<'_>,
    observers: &mut Observers,
) {
    let warning = journal.polls.warning();
    if let Some(warning) = &warning {
        observers.trace.warned(driver.run(), &call, warning);
    }
    observers.trace.ended(&call, &outcome);
    if outcome.is_err() || warning.is_some() {
        let detail = FailureDetail::new(outcome.as_ref().err(), warning);
        let error = detail.error.map(|error| journal.without_secrets(error));
        observers.add_detail(&call, FailureDetail { error, ..detail });
    }
    let (attempt, at) = (journal.attempt(), driver.now());
    let sized = match &outcome {
        Ok(output) => check_size("result", output, &call, driver),
        Err(error) => check_size("error", &error.for_model(), &call, driver),
    };
    let outcome = sized.map_err(CallError::Failed).and(outcome);
    driver.record(match outcome {
        // A layer ended the call before its function began.
        Err(error @ (CallError::TimedOut { .. } | CallError::Panicked { .. })) if !journal.has_begun() => {
            LogInput::Withdrawn { call, attempt, error: Some(error), at }
        }
        outcome => {
            let handover = driver.stored.agent().handover_of(driver.run(), &call);
            LogInput::Ended { call, attempt, outcome, handover, at }
        }
    });
}

/// Checks that the store takes `value`, which a call has made.
fn check_size(what: &str, value: &impl Serialize, call: &CallId, driver: &Driver<'_>) -> Result<(), Failure> {
    driver.stored.check_size(value).map_err(|error| {
        let name = driver.run().call(call).map_or("the tool", |call| &call.name);
        Failure::new(format!("`{name}` ran, but its {what} is lost: {error}"))
    })
}

/// Returns the result of `reading`, or a timeout after the time limit of the tool `name`.
pub fn read_in_time(tools: &Toolset, name: &str, reading: Reading) -> impl Future<Output = ReadCall> + use<> {
    let limit = tools.get(name).and_then(|tool| tool.spec().options.timeout).unwrap_or(CHECK_TIMEOUT);
    async move {
        match reading {
            Reading::Done(call) => call,
            Reading::Pending(asking) => asking.within(limit, tokio::time::sleep(limit)).await,
        }
    }
}

/// The end of a call's task.
pub struct TaskEnd {
    pub(super) journal: Arc<CallJournal>,
    pub(super) outcome: Result<Output, CallError>,
}

/// A queue from the tasks of calls to their run. Most runs have few calls at a time, so it allocates nothing in advance.
#[derive(Default)]
pub struct CallReports(Mutex<Messages>);

#[derive(Default)]
struct Messages {
    ended: VecDeque<TaskEnd>,
    checks: Vec<CheckOutcome>,
    requests: VecDeque<Box<CallRequest>>,
    /// The waker of the run, if it waits.
    waker: Option<Waker>,
    /// Set if the run is not driven any more.
    is_closed: bool,
}

impl Messages {
    fn has_any(&self) -> bool {
        !self.ended.is_empty() || !self.checks.is_empty() || !self.requests.is_empty()
    }
}

impl CallReports {
    /// Sends the end of a call. It is lost if the run is not driven any more.
    pub fn send_ended(&self, ended: TaskEnd) {
        self.send(ended, |messages, ended| messages.ended.push_back(ended));
    }

    /// Sends the result of a check or a repair. It is lost if the run is not driven any more.
    pub fn send_check(&self, outcome: CheckOutcome) {
        self.send(outcome, |messages, outcome| messages.checks.push(outcome));
    }

    /// Sends a request of a call. It is lost if the run is not driven any more.
    pub fn send_request(&self, request: Box<CallRequest>) {
        self.send(request, |messages, request| messages.requests.push_back(request));
    }

    fn send<T>(&self, message: T, add: impl FnOnce(&mut Messages, T)) {
        let mut messages = lock(&self.0);
        if messages.is_closed {
            // A message may own values of the tool, so it is dropped without the lock.
            drop(messages);
            return drop(message);
        }
        add(&mut messages, message);
        let waker = messages.waker.take();
        drop(messages);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits until there is a message. Cancel safe.
    pub async fn wait_for_message(&self) {
        poll_fn(|task| {
            let mut messages = lock(&self.0);
            if messages.has_any() {
                return Poll::Ready(());
            }
            messages.waker = Some(task.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Returns the ends that have arrived already.
    pub fn take_ended(&self) -> VecDeque<TaskEnd> {
        std::mem::take(&mut lock(&self.0).ended)
    }

    /// Returns the results of checks and repairs that have arrived already.
    pub fn take_checks(&self) -> Vec<CheckOutcome> {
        std::mem::take(&mut lock(&self.0).checks)
    }

    /// Returns a request that has arrived already.
    pub fn take_request(&self) -> Option<Box<CallRequest>> {
        lock(&self.0).requests.pop_front()
    }

    /// Drops all messages, and those that come later.
    pub fn close(&self) {
        let closed = Messages { is_closed: true, ..Messages::default() };
        // The lock is released before the messages are dropped, because their values belong to tools.
        let messages = std::mem::replace(&mut *lock(&self.0), closed);
        drop(messages);
    }
}

/// A call that runs, or waits in the middle of its work. Dropping it aborts the call.
pub struct RunningCall {
    journal: Arc<CallJournal>,
    /// The number of the start with which its task began.
    first: u32,
    stop: Cancellation,
    task: JoinHandle<()>,
    /// The time at which the call is withdrawn if its function has not begun, if the agent limits that wait.
    wait_end: Option<Instant>,
    /// The beginning of its wait for an answer, which does not count for its limits.
    paused_since: Option<Instant>,
    /// The channel for the answer that the call waits for.
    reply: Option<ReplySender<QuestionAnswer>>,
}

impl RunningCall {
    /// Pauses the call and its time limit until the answer to its question.
    pub fn pause(&mut self, reply: ReplySender<QuestionAnswer>) {
        self.reply = Some(reply);
        self.paused_since = Some(Instant::now());
    }

    /// Sends the tool the answer that it waits for. Returns whether it waited for one.
    pub fn answer(&mut self, attempt: u32, answer: QuestionAnswer) -> bool {
        let Some(reply) = self.reply.take() else { return false };
        self.journal.set_attempt(attempt);
        if let Some(paused) = self.paused_since.take().map(|since| since.elapsed()) {
            self.journal.delay(paused);
            self.wait_end = self.wait_end.and_then(|end| end.checked_add(paused));
        }
        let _ = reply.send(Ok(answer));
        true
    }

    /// Returns the time at which its limit is over, unless it is paused. As long as the function has not begun, the limit cannot
    /// be over earlier than the returned time, at which this method must be asked again.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        if self.paused_since.is_some() {
            return None;
        }
        let limit = self.journal.limit();
        match self.journal.begun_at() {
            Some(begun) => begun.checked_add(limit?),
            None if self.journal.is_waiting() => {
                limit.and_then(|limit| now.checked_add(limit)).into_iter().chain(self.wait_end).min()
            }
            // Its task finds that it must not begin, and ends.
            None => None,
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.journal.close();
        self.stop.cancel();
        self.task.abort();
    }
}

/// Returns the wait before a call that was retried `retries` times starts again; zero before its first start.
pub fn retry_wait(retries: u32) -> Duration {
    if retries == 0 { Duration::ZERO } else { Duration::from_millis(50) * 2u32.saturating_pow(retries.min(10) - 1) }
}
