//! The questions and steps that running tools send to their run.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tokio::{sync::oneshot, time::Instant};

use super::{CallReports, Calls, check_size, watch::Polls};
use crate::agent::{
    AgentError, Event, Observer, Operator,
    driver::Driver,
    inner_limits::InnerLimits,
    observers::{Observers, contained, report},
};
use crate::feedback::Rejection;
use crate::message::Usage;
use crate::run::{Call, CallId, Interrupt, Principal};
use crate::sync::lock;
use crate::tool::{Context, ErasedTool, Failure, Journal, Progress};
use tool_run::run::{
    AnsweredQuestion, Author, DurableStep, InnerUsage, LogInput, Question, QuestionAnswer, Stage, USAGE_STEP,
};

/// A request of a running tool to its run.
pub struct CallRequest {
    call: CallId,
    /// The number of the call's start.
    attempt: u32,
    request: JournalRequest,
}

enum JournalRequest {
    /// A request for an answer to a question.
    Ask { question: Question, reply: ReplySender<QuestionAnswer> },
    /// A request for a decision about an inner interrupt.
    AskInside {
        tool: String,
        interrupt: Box<Interrupt>,
        feedback: Option<Box<Rejection>>,
        reply: ReplySender<QuestionAnswer>,
    },
    /// A request to record the beginning of a step.
    StartStep { name: String, reply: ReplySender<()> },
    /// A request to record the result of a step.
    EndStep { name: String, value: Value, spent: InnerUsage, reply: ReplySender<()> },
}

/// The data of a run that the run inside of one of its calls needs.
#[derive(Clone, Debug)]
pub struct Outer {
    pub owner: Principal,
    pub limits: Arc<InnerLimits>,
}

/// Returns the data of the run of `driver` for a call of `tool`, if the call may have a run of its own.
fn outer_of(tool: &dyn ErasedTool, driver: &Driver<'_>) -> Option<Outer> {
    if tool.inner_tools().is_empty() && !tool.spec().options.resumable {
        return None;
    }
    Some(Outer { owner: driver.run().owner().clone(), limits: Arc::clone(driver.inner_limits()) })
}

/// The reports to the driver of a run, with its observer and its operator.
pub struct Channels {
    pub(super) reports: CallReports,
    pub observer: Arc<dyn Observer>,
    pub operator: Arc<dyn Operator>,
    /// The context of the outer call, for the calls of an inner run.
    pub(super) around: Option<Context>,
}

pub type ReplySender<T> = oneshot::Sender<Result<T, Failure>>;

/// The journal of a call, which its task and its driver share. Before the call begins, it records and reports nothing.
pub struct CallJournal {
    pub call: CallId,
    /// The number of the call's start. It changes when the call goes on after an answer.
    attempt: AtomicU32,
    asked: AtomicU32,
    pub channels: Arc<Channels>,
    begun: OnceLock<InitialState>,
    /// The names of the steps since the call began, with positions. Created at the first step.
    taken: OnceLock<Box<TakenSteps>>,
    /// The time limit of the tool, if it has one, and the time at which the reading of the arguments began.
    limit: Option<(Duration, Instant)>,
    work: Mutex<Work>,
    /// The secrets that the call got when it started.
    secrets: Mutex<Option<Context>>,
    pub(super) polls: Polls,
}

/// The progress of a call's function. A function begins at most once, and never after its call has ended.
#[derive(Clone, Copy)]
enum Work {
    /// The function has not begun: the call is being read, or waits in a layer or for its turn.
    Waiting,
    /// The function began at this time.
    Begun(Instant),
    /// The call has ended, even if its function still runs. Has the time at which the function began, if it had.
    Ended(Option<Instant>),
}

impl Work {
    fn has_begun(self) -> bool {
        self.began_at().is_some()
    }

    fn began_at(self) -> Option<Instant> {
        match self {
            Self::Waiting => None,
            Self::Begun(at) => Some(at),
            Self::Ended(began) => began,
        }
    }
}

/// The names of steps, each with the position among the recorded steps at which the next one of that name is searched.
type TakenSteps = Mutex<Vec<(String, usize)>>;

/// The state with which a call begins.
struct InitialState {
    /// Set if the log records the beginning of each step.
    records_step_starts: bool,
    before: Option<Box<Before>>,
}

/// The steps and answers of earlier starts of a call.
struct Before {
    /// The arguments as the caller wrote them, if they were changed.
    given: Option<Arc<str>>,
    answers: Vec<AnsweredQuestion>,
    steps: Vec<DurableStep>,
    /// The data of the run, if the call may have a run of its own.
    outer: Option<Outer>,
}

impl InitialState {
    /// Returns the state with which `call` begins now.
    fn of(call: &Call, outer: Option<Outer>) -> Self {
        let is_changed = matches!(call.arguments().author, Author::Validators | Author::Refinement);
        let given = call.revisions().last().filter(|_| is_changed).map(|given| given.text.clone());
        let (answers, steps) = (call.answers(), call.steps());
        let is_first = given.is_none() && answers.is_empty() && steps.is_empty() && outer.is_none();
        let before = || Box::new(Before { given, answers: answers.to_vec(), steps: steps.to_vec(), outer });
        Self {
            records_step_starts: call.tool.as_ref().is_some_and(|tool| tool.records_step_starts()),
            before: (!is_first).then(before),
        }
    }
}

impl CallJournal {
    pub(super) fn new(call: CallId, channels: Arc<Channels>, limit: Option<Duration>) -> Self {
        Self {
            call,
            attempt: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            channels,
            begun: OnceLock::new(),
            taken: OnceLock::new(),
            limit: limit.map(|limit| (limit, Instant::now())),
            work: Mutex::new(Work::Waiting),
            secrets: Mutex::default(),
            polls: Polls::default(),
        }
    }

    /// Sets the data with which the start number `attempt` of `call` begins. `tool` executes the call in the run of `driver`.
    pub(super) fn start_attempt(&self, attempt: u32, call: &Call, tool: &dyn ErasedTool, driver: &Driver<'_>) {
        self.set_attempt(attempt);
        let _ = self.begun.set(InitialState::of(call, outer_of(tool, driver)));
    }

    /// Sets the number of the start with which the call goes on.
    pub(super) fn set_attempt(&self, attempt: u32) {
        self.attempt.store(attempt, Ordering::SeqCst);
    }

    /// Closes the journal of a call that has ended: its function does not begin any more, and later reports of it are dropped.
    pub(super) fn close(&self) {
        let mut work = lock(&self.work);
        *work = Work::Ended(work.began_at());
    }

    /// Closes the journal if the function has not begun. Returns whether it did: then the function never begins.
    pub(super) fn close_waiting(&self) -> bool {
        let mut work = lock(&self.work);
        let is_waiting = matches!(*work, Work::Waiting);
        if is_waiting {
            *work = Work::Ended(None);
        }
        is_waiting
    }

    /// Moves the beginning of the function by a time that does not count for its limit.
    pub(super) fn delay(&self, by: Duration) {
        let mut work = lock(&self.work);
        if let Work::Begun(at) = *work {
            *work = Work::Begun(at.checked_add(by).unwrap_or(at));
        }
    }

    /// Returns the time at which the function began; `None` if it has not, or the call has ended.
    pub(super) fn begun_at(&self) -> Option<Instant> {
        match *lock(&self.work) {
            Work::Begun(at) => Some(at),
            Work::Waiting | Work::Ended(_) => None,
        }
    }

    /// Returns whether the call has not ended, and its function has not begun.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(*lock(&self.work), Work::Waiting)
    }

    /// Returns the time limit of the tool's function.
    pub(super) fn limit(&self) -> Option<Duration> {
        self.limit.map(|(limit, _)| limit)
    }

    /// Keeps the secrets of `cx` out of the texts about the call's failure.
    pub fn hide_secrets(&self, cx: &Context) {
        *lock(&self.secrets) = Some(cx.secrets_alone());
    }

    /// Returns a text about the call's failure without the secrets that the call got.
    pub(super) fn without_secrets(&self, text: String) -> String {
        match &*lock(&self.secrets) {
            Some(secrets) => secrets.without_secrets(&text),
            None => text,
        }
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt.load(Ordering::SeqCst)
    }

    /// Returns the data of the run, if the call may have a run of its own.
    pub fn outer(&self) -> Option<&Outer> {
        self.before()?.outer.as_ref()
    }

    /// Returns the recorded answers of earlier starts of the call.
    pub(super) fn answers(&self) -> &[AnsweredQuestion] {
        self.before().map_or(&[], |before| &before.answers)
    }

    fn before(&self) -> Option<&Before> {
        self.begun.get()?.before.as_deref()
    }

    /// Sends a request of the tool to the run, and waits for the reply.
    fn send<T: Send + 'static>(
        &self,
        request: impl FnOnce(ReplySender<T>) -> JournalRequest,
    ) -> BoxFuture<'static, Result<T, Failure>> {
        let (reply, answer) = oneshot::channel();
        let request = CallRequest { call: self.call.clone(), attempt: self.attempt(), request: request(reply) };
        self.channels.reports.send_request(Box::new(request));
        // Without a reply, the run has ended the call, and this future will be dropped.
        let gone = |_| Err(Failure::new("the run is not driven any more"));
        Box::pin(answer.map(move |answer| answer.unwrap_or_else(gone)))
    }

    /// Returns `journal` as this type, if a driver runs the call.
    pub fn of(journal: &dyn Journal) -> Option<&Self> {
        journal.as_any()?.downcast_ref()
    }

    /// Requests a decision about an inner interrupt for the `tries`th time, from 0. If an earlier start of the call recorded
    /// that decision, returns it.
    pub fn ask_inside(
        &self,
        tool: &str,
        open: Interrupt,
        tries: usize,
        feedback: Option<Rejection>,
    ) -> BoxFuture<'static, Result<QuestionAnswer, Failure>> {
        let digest = open.digest();
        if let Some(known) = self.answers().iter().filter(|known| known.question == digest).nth(tries) {
            return Box::pin(std::future::ready(Ok(known.answer.clone())));
        }
        let (tool, interrupt, feedback) = (tool.to_owned(), Box::new(open), feedback.map(Box::new));
        self.send(|reply| JournalRequest::AskInside { tool, interrupt, feedback, reply })
    }

    /// Asks for what the call needs before its tool begins. The reply comes only if the call cannot wait.
    pub fn wait_for(&self, question: Question) -> BoxFuture<'static, Result<QuestionAnswer, Failure>> {
        self.send(|reply| JournalRequest::Ask { question, reply })
    }

    /// Records the result of a step, and the step's share of the run's limits.
    pub fn end_step_with_usage(
        &self,
        name: &str,
        value: Value,
        spent: InnerUsage,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        let name = name.to_owned();
        self.send(|reply| JournalRequest::EndStep { name, value, spent, reply })
    }
}

impl Journal for CallJournal {
    fn report(&self, progress: Progress) {
        // The lock is held during the report, so that no report comes after the end of the call.
        let work = lock(&self.work);
        if !matches!(*work, Work::Ended(_)) && self.begun.get().is_some() {
            report(&*self.channels.observer, Event::CallProgress(&progress));
        }
    }

    fn wait_for_room(&self) -> Option<BoxFuture<'_, ()>> {
        let room = contained(|| self.channels.observer.wait_for_room(&self.call)).flatten()?;
        Some(Box::pin(AssertUnwindSafe(room).catch_unwind().map(drop)))
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn begin(&self) -> bool {
        // A call of an inner run begins only while the outer call stands.
        if self.channels.around.as_ref().is_some_and(|around| !around.begin()) {
            return false;
        }
        let mut work = lock(&self.work);
        if matches!(*work, Work::Waiting) {
            *work = Work::Begun(Instant::now());
        }
        matches!(*work, Work::Begun(_))
    }

    fn has_begun(&self) -> bool {
        lock(&self.work).has_begun()
    }

    fn deadline(&self) -> Option<std::time::Instant> {
        let (limit, read_since) = self.limit?;
        let since = match *lock(&self.work) {
            // A call that has ended keeps its deadline, so that what is dropped with it knows whether it was late.
            Work::Begun(at) | Work::Ended(Some(at)) => at,
            // Validators have the same limit.
            Work::Waiting if self.begun.get().is_none() => read_since,
            Work::Waiting | Work::Ended(None) => return None,
        };
        Some(since.checked_add(limit)?.into_std())
    }

    fn given(&self) -> Option<&str> {
        self.before()?.given.as_deref()
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<QuestionAnswer, Failure>> {
        if self.begun.get().is_none() {
            return Box::pin(std::future::ready(Err(Failure::new("no person can be asked here"))));
        }
        if question.need.is_some() {
            // The call would start anew, although its tool has begun.
            let failure = Failure::hidden("a tool that runs cannot wait for what its call needs; ask for a permission");
            return Box::pin(std::future::ready(Err(failure)));
        }
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(known) = self.answers().get(number as usize) {
            let answer = if question.matches(known.question) {
                Ok(known.answer.clone())
            } else {
                Err(Failure::hidden("the tool asked another question than in its earlier run"))
            };
            return Box::pin(std::future::ready(answer));
        }
        self.send(|reply| JournalRequest::Ask { question, reply })
    }

    fn step_result(&self, name: &str) -> Option<Value> {
        self.begun.get()?;
        let mut taken = lock(self.taken.get_or_init(Box::default));
        let at = taken.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            taken.push((name.to_owned(), 0));
            taken.len() - 1
        });
        let next = &mut taken[at].1;
        let steps = self.before().and_then(|before| before.steps.get(*next..)).unwrap_or_default();
        let found = steps.iter().position(|step| step.name == name);
        *next += found.map_or(steps.len(), |found| found + 1);
        found.map(|found| steps[found].value.clone())
    }

    fn start_step(&self, name: &str) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        if !self.begun.get()?.records_step_starts {
            return None;
        }
        let name = name.to_owned();
        Some(self.send(|reply| JournalRequest::StartStep { name, reply }))
    }

    fn end_step(&self, name: &str, value: Value) -> BoxFuture<'static, Result<(), Failure>> {
        if self.begun.get().is_none() {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.end_step_with_usage(name, value, InnerUsage::default())
    }

    fn add_usage(&self, model: &str, usage: Usage) -> BoxFuture<'static, Result<(), Failure>> {
        if self.begun.get().is_none() {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.end_step_with_usage(USAGE_STEP, Value::Null, InnerUsage::of_model(Some(model.into()), usage))
    }
}

impl Calls {
    /// Handles a request of a running tool.
    pub(super) async fn receive_request(
        &mut self,
        request: CallRequest,
        driver: &mut Driver<'_>,
        observers: &mut Observers,
    ) -> Result<(), AgentError> {
        let Some(CallRequest { call, attempt, request }) = self.hold(request, driver) else { return Ok(()) };
        let attempt = self.attempt(&call, attempt);
        let (input, reply) = match request {
            JournalRequest::Ask { question, reply } => {
                let is_need = question.need.is_some();
                // A request of an earlier start must not end a tool that has begun since.
                if is_need && !self.running.get(&call).is_some_and(|running| running.journal.close_waiting()) {
                    return Ok(());
                }
                let sized = check_size("question", &question, &call, driver);
                let input = LogInput::Asked { call: call.clone(), attempt, question, at: driver.now() };
                self.open(&call, sized.map(|()| input), reply, driver);
                if is_need && driver.run().call(&call).is_some_and(|call| call.stage() == Stage::Open) {
                    // Its tool has not begun. After the decision, the call starts anew.
                    observers.trace.paused(&call);
                    self.running.remove(&call);
                }
                return Ok(());
            }
            JournalRequest::AskInside { tool, interrupt, feedback, reply } => {
                let sized = check_size("question", &interrupt, &call, driver);
                let (id, at) = (call.clone(), driver.now());
                let input = LogInput::AskedInside { call: id, attempt, tool, interrupt, feedback, at };
                self.open(&call, sized.map(|()| input), reply, driver);
                return Ok(());
            }
            JournalRequest::StartStep { name, reply } => {
                (Ok(LogInput::DurableStepStarted { call, attempt, name }), reply)
            }
            JournalRequest::EndStep { name, value, spent, reply } => {
                let sized = check_size("durable step", &value, &call, driver);
                (sized.map(|()| LogInput::DurableStepEnded { call, attempt, name, value, spent }), reply)
            }
        };
        let recorded = input.and_then(|input| record_or_fail(input, driver));
        // The tool goes on only after the step is stored.
        driver.commit(observers).await?;
        let _ = reply.send(recorded);
        Ok(())
    }

    /// Lets a call wait for an answer, unless the run refuses the question.
    fn open(
        &mut self,
        call: &CallId,
        input: Result<LogInput, Failure>,
        reply: ReplySender<QuestionAnswer>,
        driver: &mut Driver<'_>,
    ) {
        match input.and_then(|input| record_or_fail(input, driver)) {
            Ok(()) => {
                if let Some(running) = self.running.get_mut(call) {
                    running.pause(reply);
                }
            }
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    /// Holds back a request of a call that waits for the answer to another request. While the call's interrupt is open, durable
    /// steps are not held back.
    fn hold(&mut self, request: CallRequest, driver: &Driver<'_>) -> Option<CallRequest> {
        let waits = self.running.get(&request.call).is_some_and(|running| running.reply.is_some());
        let is_open = || driver.run().call(&request.call).is_some_and(|call| call.stage() == Stage::Open);
        if !waits
            || matches!(request.request, JournalRequest::StartStep { .. } | JournalRequest::EndStep { .. }) && is_open()
        {
            return Some(request);
        }
        self.held.push(request);
        None
    }

    /// Sends the held requests of a call that goes on.
    pub(super) fn release_held(&mut self, call: &CallId) {
        for request in self.held.extract_if(.., |request| request.call == *call) {
            // The request comes after those that have arrived in the meantime.
            self.channels.reports.send_request(Box::new(request));
        }
    }

    /// Returns the number of the present start of a call if `attempt` is a start of the same task, and `attempt` otherwise. A
    /// task has a new start after each answer.
    fn attempt(&self, call: &CallId, attempt: u32) -> u32 {
        let Some(running) = self.running.get(call) else { return attempt };
        let now = running.journal.attempt();
        if (running.first..=now).contains(&attempt) { now } else { attempt }
    }
}

fn record_or_fail(input: LogInput, driver: &mut Driver<'_>) -> Result<(), Failure> {
    driver.try_record(input).map_err(|refusal| Failure::new(refusal.to_string()))
}
