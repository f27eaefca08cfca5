//! The gate between the model and the tools: it checks every call and every decision before a run accepts it.
//!
//! [`Gate`] lets the tools read arguments. The judge in `tool_run` asks the policies through the gate, and makes the evidence
//! that [`advance`](tool_run::run::advance) requires.

use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context as Task, Poll, Waker},
};

use serde_json::{Map, Value};

use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::run::{ArgumentPattern, Call, Decision, Interrupt, InterruptId, InterruptKind, Principal, Refusal, Run};
use crate::schema::{CompiledSchema, ReadText};
use crate::tool::{CallError, Context, ErasedTool, Failure, Output, ToolSpec};
use crate::toolset;
use crate::toolset::{Permission, Policy, PolicyCall, ReadCall, Reading, Toolset};
use tool_run::judge;
pub(crate) use tool_run::judge::ReadArguments;
use tool_run::judge::{AcceptedArguments, KnownTool, Rules};
use tool_run::run::{ArgumentRevision, Author, CheckedCall, CheckedDecision, Stage, ToolRef};
use tool_schema::json::text;

type RunApprovalOffer = dyn Fn(&ToolSpec, &Value) -> Option<ArgumentPattern> + Send + Sync;
type Deciders = dyn Fn(&ToolSpec, &Value) -> Vec<Principal> + Send + Sync;

/// A checker of calls and decisions: it runs the tools' decoders, validators and predicates, and asks the application's policies.
///
/// Its results are the evidence on which the run's state machine relies.
#[derive(Clone)]
pub struct Gate {
    tools: Toolset,
    policies: Vec<Arc<dyn Policy>>,
    run_approval: Option<Arc<RunApprovalOffer>>,
    deciders: Option<Arc<Deciders>>,
    /// The deciders that other agents of a team name for calls of their tools.
    member_deciders: Vec<(Toolset, Arc<Deciders>)>,
    refine: Arc<HashMap<String, Vec<Arc<Refine>>>>,
}

impl Gate {
    /// Creates a gate without policies of its own.
    pub fn new(tools: Toolset) -> Self {
        let (policies, member_deciders) = Default::default();
        Self { tools, policies, run_approval: None, deciders: None, member_deciders, refine: Arc::default() }
    }

    /// Adds a policy. A policy can only tighten.
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policies.push(policy);
        self
    }

    /// Returns whether the gate has policies of its own.
    pub fn has_policies(&self) -> bool {
        !self.policies.is_empty()
    }

    /// Sets the function that returns a pattern of calls that a person may allow for the rest of the run, or `None`. Once a
    /// person allows the pattern, later calls that match it need no approval.
    pub fn offer_run_approval(mut self, run_approval: Arc<RunApprovalOffer>) -> Self {
        self.run_approval = Some(run_approval);
        self
    }

    /// Sets the function that returns the principals that may decide about a call. If it returns none, the run's owner decides.
    pub fn deciders(mut self, deciders: Arc<Deciders>) -> Self {
        self.deciders = Some(deciders);
        self
    }

    /// Adds a function that changes arguments after the tool `name` has accepted them.
    #[cfg(feature = "agent")]
    pub(crate) fn refine(mut self, name: String, refine: Arc<Refine>) -> Self {
        Arc::make_mut(&mut self.refine).entry(name).or_default().push(refine);
        self
    }

    /// Returns a gate with `tools`, and with the policies and functions of this gate.
    #[cfg(feature = "agent")]
    pub(crate) fn with_tools(&self, tools: Toolset) -> Self {
        Self { tools, ..self.clone() }
    }

    /// Returns this gate with the rules of `other`, which judge the calls of the tools of `other`. They only tighten: an approval for the
    /// rest of a run that `other` offers is not among them.
    #[cfg(feature = "agent")]
    pub(crate) fn with_rules_of(&self, other: &Self) -> Self {
        let mut gate = self.clone();
        let tools = &other.tools;
        for policy in other.policies.iter().cloned() {
            let tools = tools.clone();
            gate.policies.push(Arc::new(move |call: &PolicyCall<'_>| match tools.get(&call.spec.name) {
                Some(_) => policy(call),
                None => Permission::Allow,
            }));
        }
        gate.member_deciders.extend(other.deciders.clone().map(|deciders| (tools.clone(), deciders)));
        for (name, refines) in other.refine.iter().filter(|(name, _)| self.tools.get(name).is_none()) {
            Arc::make_mut(&mut gate.refine).insert(name.clone(), refines.clone());
        }
        gate
    }

    /// Returns the tools.
    pub fn tools(&self) -> &Toolset {
        &self.tools
    }

    /// Returns a run's reference to the tool `name`.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolRef>> {
        Some(self.known(name)?.reference)
    }

    fn known(&self, name: &str) -> Option<KnownTool<'_>> {
        let (spec, (reference, fingerprints)) = self.tools.reference(name)?;
        Some(KnownTool { reference, fingerprints: *fingerprints, spec })
    }

    /// Checks whether a call of `run` has acceptable arguments, and whether it may run. Waits for the tool's validators, if it
    /// has any.
    pub async fn check_call(&self, run: &Run, call: &Call, cx: &Context) -> CheckedCall {
        let read = self.read(call, cx.clone()).done().await.read;
        self.judge(run, call, read, cx)
    }

    /// Lets the tool that a call names read the arguments.
    pub(crate) fn read(&self, call: &Call, cx: Context) -> Reading {
        let refined = |revision: &ArgumentRevision| revision.author == Author::Refinement;
        let is_new = call.stage() == Stage::Proposed && !call.revisions().iter().any(refined);
        let refine = self.refine.get(&call.name).filter(|_| is_new && !refined(call.arguments()));
        let cx = if call.is_revised() { cx.revised() } else { cx };
        let text = &call.arguments().text;
        let values = if call.may_be_read() { self.tools.read_values(&call.name, text) } else { None };
        let read = |cx| match values {
            Some(values) => Reading::begin_read(&self.tools, &call.name, Arc::clone(text), values, cx),
            None => Reading::begin(&self.tools, &call.name, text, cx),
        };
        match refine {
            Some(refine) => refine_accepted(read(cx.clone()), &self.tools, &call.name, refine, cx),
            None => read(cx),
        }
    }

    /// Judges a call whose arguments the tool has read.
    pub(crate) fn judge(&self, run: &Run, call: &Call, read: ReadArguments, cx: &Context) -> CheckedCall {
        judge::judge_call(&GateRules { gate: self, cx }, self.known(&call.name), run, call, read)
    }

    /// Checks the content of a decision about an interrupt of `run`: edited arguments, an output or an answer. Waits for the
    /// tool's validators, if it has any.
    ///
    /// Fails when this content is wrong, with feedback for the person. The run itself checks whether the decision is allowed.
    pub async fn check_decision(
        &self,
        run: &Run,
        interrupt: &InterruptId,
        decision: Decision,
        cx: &Context,
    ) -> Result<CheckedDecision, Refusal> {
        let call = run.call(interrupt.call());
        let read = match call.and_then(|call| self.read_edit(&call.name, call.interrupt()?, &decision, cx)) {
            Some(reading) => Some(reading.done().await.read),
            None => None,
        };
        self.judge_read_decision(run, interrupt, decision, read, cx)
    }

    /// Lets the tool of a call read the arguments of a decision, if the decision is an edit.
    pub(crate) fn read_edit(&self, name: &str, open: &Interrupt, decision: &Decision, cx: &Context) -> Option<Reading> {
        let Decision::Edit { arguments } = decision else { return None };
        let arguments = arguments.to_string().into();
        if matches!(open.kind, InterruptKind::Inner { .. }) {
            let tool = tool_of(&self.tools, name, open)?;
            let own = Toolset::of(vec![Arc::clone(tool)]).ok()?;
            return Some(Reading::begin(&own, tool.name(), &arguments, cx.clone()));
        }
        Some(Reading::begin(&self.tools, name, &arguments, cx.clone()))
    }

    /// Checks a decision. `read` is the tool's answer to edited arguments.
    pub(crate) fn judge_read_decision(
        &self,
        run: &Run,
        interrupt: &InterruptId,
        decision: Decision,
        read: Option<ReadArguments>,
        cx: &Context,
    ) -> Result<CheckedDecision, Refusal> {
        // Only edited arguments need the tool.
        let known = read.as_ref().and_then(|_| self.known(&run.call(interrupt.call())?.name));
        judge::judge_decision(&GateRules { gate: self, cx }, known, run, interrupt, decision, read)
    }
}

/// A gate with the context of the call that it judges.
struct GateRules<'a> {
    gate: &'a Gate,
    cx: &'a Context,
}

impl Rules for GateRules<'_> {
    fn authorize(&self, spec: &ToolSpec, arguments: &str) -> Permission {
        let proposal = PolicyCall { spec, arguments, cx: self.cx };
        let permissions = self.gate.policies.iter().map(|policy| toolset::ask_policy(&**policy, &proposal));
        permissions.fold(Permission::Allow, Permission::and)
    }

    fn run_approval(&self, spec: &ToolSpec, arguments: &Value) -> Option<ArgumentPattern> {
        self.gate.run_approval.as_ref()?(spec, arguments)
    }

    fn deciders(&self, spec: &ToolSpec, arguments: &Value) -> Vec<Principal> {
        let own = self.gate.deciders.as_ref().map(|deciders| deciders(spec, arguments)).unwrap_or_default();
        if !own.is_empty() {
            return own;
        }
        let of_members = self.gate.member_deciders.iter().filter(|(tools, _)| tools.get(&spec.name).is_some());
        let mut named = of_members.map(|(_, deciders)| deciders(spec, arguments)).filter(|named| !named.is_empty());
        named.next().unwrap_or_default()
    }

    fn read_output(&self, name: &str, open: &Interrupt, given: &Value) -> Result<Output, Refusal> {
        read_output(&self.gate.tools, name, open, given)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Gate")
            .field("tools", &self.tools)
            .field("policies", &self.policies.len())
            .finish_non_exhaustive()
    }
}

/// Returns the tool that an interrupt concerns: the tool `name`, or one that runs inside it.
pub fn tool_of<'a>(tools: &'a Toolset, name: &str, open: &Interrupt) -> Option<&'a Arc<dyn ErasedTool>> {
    let (mut tool, mut open) = (tools.get(name)?, open);
    while let InterruptKind::Inner { tool: name, interrupt, .. } = &open.kind {
        open = interrupt;
        tool = tool.inner_tools().iter().find(|tool| tool.name() == name)?;
    }
    Some(tool)
}

/// Reads an output that a person or a client provided for a call of the tool `name`, whose interrupt is `open`.
fn read_output(tools: &Toolset, name: &str, open: &Interrupt, given: &Value) -> Result<Output, Refusal> {
    if !matches!(open.kind, InterruptKind::Inner { .. }) {
        return output_of(tools, name, given);
    }
    let tool = tool_of(tools, name, open).ok_or(Refusal::ToolChanged)?;
    let own = Toolset::of(vec![Arc::clone(tool)]).map_err(|_| Refusal::ToolChanged)?;
    output_of(&own, tool.name(), given)
}

fn output_of(tools: &Toolset, name: &str, given: &Value) -> Result<Output, Refusal> {
    let tool = tools.get(name).ok_or(Refusal::ToolChanged)?;
    let wrong = |feedback| Refusal::Invalid { feedback };
    if tool.spec().options.external {
        return tools.read_external_output(name, &given.to_string()).map_err(|error| match error {
            CallError::Rejected(feedback) => wrong(feedback),
            _ => Refusal::ToolChanged,
        });
    }
    check_output(tool, given).map_err(wrong)?;
    Output::json(given)
        .map_err(|failure| wrong(Rejection::one(Problem::new("", ProblemKind::Invalid, failure.for_log()))))
}

fn check_output(tool: &Arc<dyn ErasedTool>, given: &Value) -> Result<(), Rejection> {
    let Some(schema) = &tool.spec().output else { return Ok(()) };
    let Ok(compiled) = CompiledSchema::compile(schema.neutral()) else { return Ok(()) };
    let problems = compiled.problems(given, "");
    if problems.is_empty() { Ok(()) } else { Err(Rejection::new(problems)) }
}

/// A function that changes arguments that a tool has accepted. The function gets their text, and the entries to change.
pub(crate) type Refine = dyn Fn(&str, &mut Map<String, Value>, &Context) + Send + Sync;

/// Returns the outcome of reading refined arguments. Their text counts as a change by the author `Refinement`. The arguments before had
/// been read as `reading`.
fn refined_outcome(read: ReadArguments, reading: Option<Arc<ReadText>>) -> Result<AcceptedArguments, CallError> {
    read.outcome.map(|accepted| {
        let normalized = Some(accepted.normalized.clone().unwrap_or(read.text));
        AcceptedArguments { normalized, author: Author::Refinement, reading, ..accepted }
    })
}

/// Returns the refined text of accepted arguments. Fails with the earlier result if `refine` changes nothing, and with a
/// failure if it panics.
fn refine_text(
    accepted: AcceptedArguments,
    text: &Arc<str>,
    refine: &Refine,
    cx: &Context,
) -> Result<Arc<str>, Result<AcceptedArguments, CallError>> {
    let text = accepted.normalized.as_deref().unwrap_or(text);
    let text = text::without_null(text);
    let text = if text::is_blank(text) { "{}" } else { text };
    let Ok(before) = serde_json::from_str::<Map<String, Value>>(text) else { return Err(Ok(accepted)) };
    let mut after = before.clone();
    if catch_unwind(AssertUnwindSafe(|| refine(text, &mut after, cx))).is_err() {
        return Err(Err(Failure::hidden("the refinement of the arguments panicked").into()));
    }
    if after == before {
        return Err(Ok(accepted));
    }
    // A value that did not change keeps its digits.
    let mut written: HashMap<String, String> = text::entries(text).into_iter().collect();
    let text_of = |(name, value): (&String, &Value)| {
        let kept = written.remove(name).filter(|_| before.get(name) == Some(value));
        (name.clone(), kept.unwrap_or_else(|| value.to_string()))
    };
    Ok(text::write_object(&after.iter().map(text_of).collect::<Vec<_>>()).into())
}

/// Changes arguments with each of `refine` if the tool accepts them. After each change, the tool reads the result.
fn refine_accepted(reading: Reading, tools: &Toolset, name: &str, refine: &[Arc<Refine>], cx: Context) -> Reading {
    let (is_done, text) = match &reading {
        Reading::Done(call) => (true, Arc::clone(&call.read.text)),
        Reading::Pending(asking) => (false, Arc::clone(&asking.text)),
    };
    let (tools, name, refine) = (tools.clone(), name.to_owned(), refine.to_vec());
    let mut work = Box::pin(async move {
        let mut call = reading.done().await;
        for refine in refine {
            let ReadCall { read: ReadArguments { text, outcome }, prepared } = call;
            let accepted = match outcome {
                Ok(accepted) => accepted,
                Err(error) => return ReadCall::without_call(text, Err(error)),
            };
            let values = accepted.reading.clone();
            call = match refine_text(accepted, &text, &*refine, &cx) {
                Err(outcome) => ReadCall { read: ReadArguments { text, outcome }, prepared },
                Ok(refined) => {
                    let again = Reading::begin(&tools, &name, &refined, cx.clone()).done().await;
                    ReadCall::without_call(text, refined_outcome(again.read, values))
                }
            };
        }
        call
    });
    // A tool without validators answers at once, each time.
    if is_done && let Poll::Ready(call) = work.as_mut().poll(&mut Task::from_waker(Waker::noop())) {
        return Reading::Done(call);
    }
    Reading::Pending(toolset::PendingRead { text, work })
}
