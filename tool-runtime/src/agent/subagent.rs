//! Agents as tools: a call of such a tool is a run inside of the calling run.

use std::{
    collections::HashMap,
    fmt,
    ops::Range,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::{BoxFuture, ready};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::agent::{
    Agent, AgentError, DenyAll, Event, Observer, Operator, Reply, Session,
    calls::CallJournal,
    event::NoObserver,
    observers::report,
    typed::{FinalAnswer, Reminders, schema_of},
};
use crate::feedback::Rejection;
use crate::message::Part;
use crate::run::{
    Call, CallId, Decision, Interrupt, Phase, Principal, Prompt, Refusal, Run, RunId, StopReason, Timestamp,
};
use crate::schema::{CompiledSchema, Schema};
use crate::store::{Append, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem};
use crate::sync::lock;
use crate::tool::{
    AcceptedCall, CallError, Context, Effect, ErasedTool, Failure, Journal, Output, PrepareFuture, QuestionAnswer,
    ToolOptions, ToolSpec, describe_output, read_as,
};
use crate::toolset::ToolsetError;
use tool_run::run::{Digest, InnerUsage, LogInput, record};
use tool_schema::schema::close_objects;

type PromptFn = dyn Fn(&str) -> Result<String, Rejection> + Send + Sync;

/// An agent as a tool of another agent, created by [`Agent::as_tool`].
pub struct AgentTool {
    agent: Agent,
    spec: Arc<ToolSpec>,
    /// The function that converts the arguments into the agent's prompt.
    to_prompt: Arc<PromptFn>,
    /// The tool for a typed answer, if the output has a type.
    answering: Option<FinalAnswer>,
    /// Set if the inner agent has the values and secrets of the outer one.
    shares_context: bool,
}

/// The arguments of a call of an agent, unless [`AgentTool::input`] sets others.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Task {
    /// The task, with all the information that it needs. The agent sees nothing else of this conversation.
    task: String,
}

impl AgentTool {
    /// Creates the tool called `name` whose calls are runs of `agent`.
    pub(super) fn new(agent: &Agent, name: String, description: String) -> Self {
        let tools = || agent.toolset().iter().map(|tool| &tool.spec().options);
        let input = Schema::new(serde_json::json!({ "type": "object" }));
        let mut spec = ToolSpec::new(name, description, input);
        // The outputs of final tools may have any type.
        if agent.setup.final_tools.is_empty() {
            spec.output = describe_output(|generator| Some(generator.subschema_for::<String>())).map(Arc::new);
        }
        let only_reads = tools().all(|tool| tool.effect == Effect::ReadOnly);
        // The tools of a caller are not known before the call.
        let has_other_tools = agent.asks_for_callers();
        spec.options.effect = if only_reads && !has_other_tools { Effect::ReadOnly } else { Effect::Write };
        spec.options.untrusted = has_other_tools || tools().any(|tool| tool.untrusted || tool.open_world);
        spec.options.resumable = true;
        let (agent, spec) = (agent.clone(), Arc::new(spec));
        let tool = Self { agent, spec, to_prompt: Arc::new(|_| unread()), answering: None, shares_context: false };
        tool.input(|task: Task| task.task)
    }

    /// Sets the type of the tool's input, and its conversion into the agent's prompt. `I` must have the schema of an object.
    pub fn input<I>(mut self, prompt: impl Fn(I) -> String + Send + Sync + 'static) -> Self
    where
        I: DeserializeOwned + JsonSchema + 'static,
    {
        let earlier = schema_of::<I>();
        let mut schema = earlier.clone();
        close_objects(&mut schema);
        let schema = Schema::from_schemars(schema).with_earlier(earlier);
        let compiled = CompiledSchema::compile(schema.neutral()).ok();
        Arc::make_mut(&mut self.spec).input = Arc::new(schema);
        self.to_prompt = Arc::new(move |arguments| Ok(prompt(read_as(arguments, compiled.as_ref())?)));
        self
    }

    /// Sets the type of the tool's output. The agent's model answers as described in
    /// [`Ask::typed`](super::Ask::typed). If the model does not do so even after a reminder, the call fails.
    ///
    /// Fails if the agent has a tool called `final_answer`.
    pub fn output<O>(mut self) -> Result<Self, ToolsetError>
    where
        O: DeserializeOwned + JsonSchema + Send + 'static,
    {
        let answering = FinalAnswer::of::<O>();
        self.agent = self.agent.clone().tools(self.agent.toolset().clone().with(answering.clone())?);
        Arc::make_mut(&mut self.spec).output = Some(Arc::new(Schema::new(schema_of::<O>())));
        self.answering = Some(answering);
        Ok(self)
    }

    /// Lets the inner agent have the values and the secrets of the outer call's [`Context`], such as the data of one request. Values of
    /// the inner agent's own context stay. Without this, the inner agent has the principal, its claims and the deadline alone.
    pub fn share_context(mut self) -> Self {
        self.shares_context = true;
        self
    }

    /// Changes the flags and limits of the tool.
    pub fn options(mut self, change: impl FnOnce(&mut ToolOptions)) -> Self {
        change(&mut Arc::make_mut(&mut self.spec).options);
        self
    }
}

fn unread() -> Result<String, Rejection> {
    Err(Rejection::from_message("the agent takes no task"))
}

impl ErasedTool for AgentTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        let prompt = (self.to_prompt)(arguments).map_err(CallError::from);
        PrepareFuture::read(prompt.map(|prompt| {
            let needs_approval = self.spec.options.approval != crate::tool::Approval::Never;
            AcceptedCall::new(needs_approval, Box::pin(self.work(prompt, cx)))
        }))
    }

    fn read_external_output(&self, _: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }

    fn inner_tools(&self) -> &[Arc<dyn ErasedTool>] {
        // The tools of a caller are not known before its call.
        if self.agent.asks_for_callers() { &[] } else { self.agent.toolset().as_slice() }
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AgentTool").field("spec", &self.spec).field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// The deepest level at which agents call one another.
const MAX_AGENT_DEPTH: u32 = 8;

/// The level of the agent that a call belongs to.
#[derive(Clone, Copy)]
struct Depth(u32);

/// The outer call of an inner run. It is the observer and the operator of the inner run, and forwards to those of the outer
/// run. If the outer operator can decide, the runtime asks it at once. Other decisions wait until the inner run cannot go on
/// otherwise.
struct OuterCall {
    journal: Arc<dyn Journal>,
    /// The name of the inner agent, or of its tool.
    agent: Arc<str>,
    /// The number of requests about each interrupt since the call was started.
    tries: Mutex<HashMap<Digest, usize>>,
}

impl OuterCall {
    /// Returns the outer call of a run of `tool`, if a driver runs it.
    fn of(tool: &AgentTool, cx: &Context) -> Option<Arc<Self>> {
        let journal = cx.journal().filter(|journal| CallJournal::of(&***journal).is_some())?;
        let agent = tool.agent.stored_name().unwrap_or_else(|| tool.spec.name.as_str().into());
        Some(Arc::new(Self { journal: Arc::clone(journal), agent, tries: Mutex::default() }))
    }

    fn journal(&self) -> Option<&CallJournal> {
        CallJournal::of(&*self.journal)
    }

    /// Requests a decision about an interrupt of an inner call of the tool `tool`.
    fn ask(
        &self,
        tool: &str,
        open: Interrupt,
        feedback: Option<Rejection>,
    ) -> BoxFuture<'static, Result<(Decision, Principal), Failure>> {
        let tries = {
            let mut tries = lock(&self.tries);
            let count = tries.entry(open.digest()).or_default();
            std::mem::replace(count, *count + 1)
        };
        let asked = self.journal().map(|journal| journal.ask_inside(tool, open, tries, feedback));
        Box::pin(async move {
            match asked.ok_or_else(|| Failure::new("no person can be asked here"))?.await? {
                QuestionAnswer::Given(decided) => Ok(serde_json::from_value(decided)?),
                _ => Err(Failure::hidden("the answer is not a decision")),
            }
        })
    }
}

impl Observer for OuterCall {
    fn on_event(&self, event: Event<'_>) {
        if let Some(journal) = self.journal() {
            report(
                &*journal.channels.observer,
                Event::Inner { call: &journal.call, agent: &self.agent, event: &event },
            );
        }
    }

    fn wait_for_room<'a>(&'a self, _: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        let journal = self.journal()?;
        journal.channels.observer.wait_for_room(&journal.call)
    }
}

impl Operator for OuterCall {
    fn can_decide(&self) -> bool {
        self.journal().is_some_and(|journal| journal.channels.operator.can_decide())
    }

    fn decide(
        &self,
        tool: &str,
        open: &Interrupt,
        feedback: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, (Decision, Option<Principal>)>> {
        let decided = self.ask(tool, open.clone(), feedback.cloned());
        Some(Box::pin(async move {
            match decided.await {
                Ok((decision, by)) => (decision, Some(by)),
                Err(failure) => (Decision::deny_undecided(failure.for_model()), None),
            }
        }))
    }
}

/// An inner run, and the call that it belongs to.
struct InnerRun<'a> {
    tool: &'a AgentTool,
    session: Session,
    /// The outer call; `None` if no decision is possible.
    outside: Option<Arc<OuterCall>>,
    taint: Vec<String>,
}

impl AgentTool {
    pub(super) async fn work(&self, prompt: String, cx: &Context) -> Result<Output, CallError> {
        let depth = cx.get::<Depth>().map_or(0, |depth| depth.0) + 1;
        if depth > MAX_AGENT_DEPTH {
            let text =
                format!("agents call one another at most {MAX_AGENT_DEPTH} levels deep; continue without this one");
            return Err(Failure::new(text).into());
        }
        let outside = OuterCall::of(self, cx);
        let (session, is_new) = self.session(depth, outside.as_ref(), cx).await.map_err(call_error)?;
        if is_new && let Some(reason) = session.stored.stop_outside() {
            return Err(Failure::new(format!("the agent did not begin: {}", why_stopped(&reason))).into());
        }
        let mut inner_run = InnerRun { tool: self, session, outside, taint: cx.taint().to_vec() };
        let first = is_new.then(|| LogInput::Prompt(inner_run.prompt(prompt)));
        inner_run.go(first).await
    }

    /// Returns the session of the inner run, and whether it is new. Otherwise the run continues from the steps of an earlier
    /// start.
    async fn session(
        &self,
        depth: u32,
        outside: Option<&Arc<OuterCall>>,
        cx: &Context,
    ) -> Result<(Session, bool), AgentError> {
        let mut agent = self.of_outer_caller(outside, cx).await?;
        agent = agent.without_store().edit_context(|context| {
            let context = if self.shares_context { context.with_values_of(cx) } else { context };
            within(context, depth, cx)
        });
        agent.setup_mut().outer_call = Some(cx.clone());
        let Some(outside) = outside else {
            return Ok((agent.observer(NoObserver).operator(DenyAll).session(), true));
        };
        let mut owner = agent.owner();
        let outer = outside.journal().and_then(CallJournal::outer);
        agent = agent.options(|options| {
            // Interrupts expire by the clock of the outer run.
            (options.approval_expiry, options.external_expiry) = (None, None);
        });
        if let Some(outer) = outer {
            owner.clone_from(&outer.owner);
            agent = outer.limits.budgets.iter().fold(agent, Agent::budget);
            agent.setup_mut().outer = Some(Arc::clone(&outer.limits));
        }
        let store = StepStore::new(Arc::clone(&outside.journal));
        let (id, is_new) = (cx.call_id().into(), store.is_empty());
        let agent = agent.store(store).observer(Arc::clone(outside)).operator(Arc::clone(outside));
        if is_new {
            let (run, created) = Run::new(id, owner, agent.setup.options, Vec::new(), agent.now());
            return Ok((Session::new(&agent, run, vec![created]), true));
        }
        Ok((agent.open(&id).await?, false))
    }
}

impl AgentTool {
    /// Returns the agent, as its function for callers makes it for the caller of the run around the call. A run that has begun waits
    /// for the function a while, because its work would be lost.
    async fn of_outer_caller(&self, outside: Option<&Arc<OuterCall>>, cx: &Context) -> Result<Agent, AgentError> {
        if !self.agent.asks_for_callers() {
            return Ok(self.agent.clone());
        }
        let outer = outside.and_then(|outside| outside.journal()).and_then(CallJournal::outer);
        let owner = match (outer, cx.principal()) {
            (_, Some(principal)) => principal.into(),
            (Some(outer), None) => outer.owner.clone(),
            (None, None) => self.agent.owner(),
        };
        let agent = self.agent.clone().acting_for(&owner, cx.shared_claims().cloned());
        let agent = agent.edit_context(|context| context.with_cancellation(cx.cancellation().clone()));
        let has_begun = outside.is_some_and(|outside| !StepStore::new(Arc::clone(&outside.journal)).is_empty());
        let mut pauses = if has_begun { &CALLER_PAUSES[..] } else { &[] }.iter();
        let agent = loop {
            match (agent.of_caller(None).await, pauses.next()) {
                (Err(AgentError::Caller { .. }), Some(pause)) => tokio::time::sleep(*pause).await,
                (asked, _) => break asked?,
            }
        };
        match self.answering.as_ref().filter(|_| agent.toolset().get(FinalAnswer::NAME).is_none()) {
            Some(answering) => {
                let tools = agent.toolset().clone().with(answering.clone());
                Ok(agent.tools(tools.map_err(|error| AgentError::Caller { reason: error.to_string() })?))
            }
            None => Ok(agent),
        }
    }
}

/// The pauses between the tries to make the agent of a caller, for an inner run that has begun.
const CALLER_PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];

/// Returns the context of the inner run for a call with the context `outer`.
fn within(context: Context, depth: u32, outer: &Context) -> Context {
    let mut context = context.with(Depth(depth));
    if let Some(principal) = outer.principal() {
        context = context.with_principal(principal);
    }
    if let Some(claims) = outer.shared_claims() {
        context = context.with_claims(Arc::clone(claims));
    }
    if let Some(deadline) = outer.deadline() {
        context = context.with_deadline(deadline);
    }
    context
}

impl InnerRun<'_> {
    fn prompt(&self, text: String) -> Prompt {
        let by = self.session.run().owner().clone();
        let mut prompt = Prompt::new(vec![Part::text(text)], by, self.session.agent().now());
        prompt.taint.clone_from(&self.taint);
        match &self.tool.answering {
            Some(answering) => {
                prompt = prompt.final_tool(FinalAnswer::NAME).answer_schema(answering.schema().clone());
            }
            None => prompt.final_tools = self.session.agent().setup.final_tools.to_vec(),
        }
        prompt
    }

    /// Drives the inner run until it has an answer.
    async fn go(&mut self, first: Option<LogInput>) -> Result<Output, CallError> {
        let mut input = first.or_else(|| self.next());
        let mut reminders = Reminders::default();
        loop {
            let reply = self.session.drive(input.take()).await.map_err(call_error)?;
            if reply.phase == Phase::Suspended {
                self.ask().await?;
                continue;
            }
            let Some(answering) = &self.tool.answering else { return output_of(&reply) };
            let run = self.session.run();
            if let Some(json) = answering.given(run) {
                return Ok(Output::from_json(json));
            }
            let problem = answering.problems_in_text(run);
            let Some(text) = reminders.next(run, problem.as_ref()) else {
                let refusal = problem.map(|problem| problem.to_string()).or_else(|| FinalAnswer::refusal(run));
                return Err(no_answer(&reply, refusal));
            };
            let mut prompt = self.prompt(text);
            // The text is not of the outer agent.
            prompt.corrects = true;
            input = Some(LogInput::Prompt(prompt));
        }
    }

    /// Returns the input that continues a run that was left before, if it needs one.
    fn next(&self) -> Option<LogInput> {
        let by = self.session.run().owner().clone();
        match self.session.run().phase() {
            Phase::Stopped(StopReason::ModelFailed(_)) => {
                Some(LogInput::Continue { by, at: self.session.agent().now(), answer: None })
            }
            _ => None,
        }
    }

    /// Requests decisions about the first open interrupt until one fits.
    async fn ask(&mut self) -> Result<(), CallError> {
        let Some(open) = self.session.interrupts().next().cloned() else { return Ok(()) };
        let name = self.session.run().call(open.id.call()).map(|call| call.name.clone()).unwrap_or_default();
        let mut feedback = None;
        loop {
            let Some(outside) = &self.outside else { return Err(Failure::new("no person can be asked here").into()) };
            let (decision, by) = outside.ask(&name, open.clone(), feedback.take()).await?;
            match self.session.decide(&open.id, decision, by).await {
                Ok(()) | Err(AgentError::Refused(Refusal::Closed { .. } | Refusal::Conflict { .. })) => return Ok(()),
                Err(AgentError::Refused(Refusal::Invalid { feedback: wrong })) => feedback = Some(wrong),
                Err(AgentError::Refused(refusal)) => feedback = Some(Rejection::from_message(refusal.to_string())),
                Err(error) => return Err(call_error(error)),
            }
        }
    }
}

/// Returns the error of an inner run without an answer. `refusal` has the problems of its last answer.
fn no_answer(reply: &Reply, refusal: Option<String>) -> CallError {
    let no_answer = || Failure::new("the agent gave no answer of the requested type");
    let reason = match output_of(reply) {
        Err(CallError::Failed(failure)) => failure,
        _ => no_answer(),
    };
    match refusal {
        Some(problems) => {
            Failure::new(format!("{}; its last answer was refused: {problems}", reason.for_model())).into()
        }
        None => reason.into(),
    }
}

/// Returns the outcome of an inner run whose answer is its last text.
fn output_of(reply: &Reply) -> Result<Output, CallError> {
    let mut text = match &reply.phase {
        Phase::Finished => return Ok(reply.output().cloned().map_or_else(|| Output::json(&reply.text), Ok)?),
        Phase::Stopped(StopReason::StepLimit) => {
            format!("the agent has used all its steps; the limit is {} (`max_steps`)", reply.steps)
        }
        Phase::Stopped(StopReason::TurnCut(_)) => "the agent's answer was cut".to_owned(),
        Phase::Stopped(reason) => format!("the agent was stopped: {}", why_stopped(reason)),
        _ => "the agent was stopped".to_owned(),
    };
    if !reply.text.is_empty() {
        text = format!("{text}; its last text is: {}", reply.text);
    }
    Err(Failure::new(text).into())
}

/// Returns the reason why an inner run was stopped, for the model of the outer run.
fn why_stopped(reason: &StopReason) -> String {
    match reason {
        StopReason::Denied => "a person denied one of its calls".to_owned(),
        StopReason::Requested => "a stop of the whole run was requested".to_owned(),
        reason => reason.to_string(),
    }
}

fn call_error(error: AgentError) -> CallError {
    match error {
        AgentError::Cancelled => CallError::Cancelled,
        error @ AgentError::Blocked { .. } => Failure::new(format!("the agent did not answer: {error}")).into(),
        // The log and the observer of the inner run have the cause.
        AgentError::Model(_) => Failure::new("the agent's model failed").retryable().into(),
        AgentError::Caller { reason } => Failure::new("the agent could not begin").source(reason).retryable().into(),
        AgentError::Refused(refusal) => Failure::new(refusal.to_string()).into(),
        AgentError::Store(StoreError::Unavailable(error)) if error.is::<NotRecorded>() => {
            Failure::new(format!("the agent could not continue: {error}")).into()
        }
        error => Failure::new("the agent could not continue").source(error).into(),
    }
}

/// The error of an append that the outer run did not record, such as one over its limit.
#[derive(Debug)]
struct NotRecorded(String);

impl fmt::Display for NotRecorded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for NotRecorded {}

const STEP: &str = "run";

/// A store of one inner run, whose records are steps of the outer call.
pub struct StepStore {
    journal: Arc<dyn Journal>,
    records: Mutex<Vec<Record>>,
}

impl StepStore {
    /// Creates the store, with the records of an earlier start of the call.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        let mut records = Vec::new();
        while let Some(step) = journal.step_result(STEP) {
            add_record(&mut records, &step);
        }
        Self { journal, records: Mutex::new(records) }
    }

    /// Returns whether the run does not exist yet.
    pub fn is_empty(&self) -> bool {
        lock(&self.records).is_empty()
    }

    fn rev(&self) -> u64 {
        lock(&self.records).last().map_or(0, |last| last.rev + last.count)
    }

    async fn add(&self, append: Append) -> Result<(), StoreError> {
        let Append { expected, count, text, .. } = append;
        if expected != self.rev() {
            return Err(StoreError::Conflict);
        }
        let Some(journal) = CallJournal::of(&*self.journal) else {
            return Err(StoreError::unavailable("the call has no run that could store the inner run"));
        };
        let malformed = |error: serde_json::Error| StoreError::unavailable(error.to_string());
        let log: Value = serde_json::from_str(&text).map_err(malformed)?;
        let step = json!({ "rev": expected, "count": count, "log": log });
        let spent = InnerUsage::of(&record::decode(&text)?, true);
        let kept = journal.end_step_with_usage(STEP, step, spent).await;
        kept.map_err(|failure| StoreError::unavailable(NotRecorded(failure.for_model().to_owned())))?;
        lock(&self.records).push(Record { rev: expected, count, text });
        Ok(())
    }
}

/// Adds the record in a step of an outer call.
fn add_record(records: &mut Vec<Record>, step: &Value) {
    let number = |name: &str| step[name].as_u64().unwrap_or_default();
    let record = Record { rev: number("rev"), count: number("count"), text: step["log"].to_string() };
    if record.rev == 0 {
        // A layer around the tool has called it again, which begins another run.
        records.clear();
    }
    records.push(record);
}

/// Returns the run inside of a call of an agent, if that run has begun.
pub fn inner_run(call: &Call) -> Option<Run> {
    let mut records = Vec::new();
    call.steps().iter().filter(|step| step.name == STEP).for_each(|step| add_record(&mut records, &step.value));
    StoredRun { snapshot: None, records }.rebuild().ok()
}

impl Store for StepStore {
    fn append<'a>(&'a self, _: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.add(append))
    }

    fn load<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        let records = lock(&self.records).clone();
        let stored = (!records.is_empty()).then_some(StoredRun { snapshot: None, records });
        Box::pin(ready(Ok(stored)))
    }

    fn read<'a>(&'a self, _: &'a RunId, from: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let records = lock(&self.records).iter().filter(|record| record.rev + record.count > from).cloned().collect();
        Box::pin(ready(Ok(records)))
    }

    fn save_snapshot<'a>(&'a self, _: &'a RunId, _: u64, _: String) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    /// Leases the run to any worker, because the driver of the outer run drives this one.
    fn lease<'a>(
        &'a self,
        _: &'a RunId,
        worker: &'a str,
        now: Timestamp,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        let until = now.saturating_add(ttl);
        Box::pin(ready(Ok(Lease { token: 1, worker: worker.to_owned(), until })))
    }

    fn release<'a>(&'a self, _: &'a RunId, _: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn waiting<'a>(&'a self, _: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn due(&self, _: Timestamp, _: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn list<'a>(&'a self, _: &'a Principal, _: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn delete<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(false)))
    }
}
