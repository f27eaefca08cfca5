//! The gate between the model and the tools: every call and every decision is looked at here before a run accepts it.
//!
//! [`Gate`] lets the tools read arguments, asks the policies, and gives the answers to the one judge, which makes the
//! evidence that [`step`](tool_run::run::step) wants.

mod reading;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

use serde_json::Value;
use tool_run::judge::{self, Judge, KnownTool};

use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::run::{Call, Decision, Interrupt, InterruptId, InterruptKind, Pattern, Principal, Refusal, Run};
use crate::schema::Validator;
use crate::tool::{CallError, Context, DynTool, Identity, Output, ToolSpec};
use crate::toolset::{self, Permission, Policy, Proposal, Toolset};
pub(crate) use reading::Reading;
use reading::Refine;
#[cfg(feature = "agent")]
pub(crate) use reading::{Asking, ReadCall};
pub(crate) use tool_run::judge::Read;
use tool_run::run::{ArgumentRevision, Author, CheckedCall, CheckedDecision, Stage, ToolRef};

/// The reference that a run keeps of a tool, and the identity by which records of any age know the tool.
type Ref = (Arc<ToolRef>, Identity);
type Offer = dyn Fn(&ToolSpec, &Value) -> Option<Pattern> + Send + Sync;
type Deciders = dyn Fn(&ToolSpec, &Value) -> Vec<Principal> + Send + Sync;

/// Looks at calls and decisions: with the tools' own decoders, validators and predicates, and with the policies of the
/// application. What it finds is the evidence that the run's state machine goes by.
#[derive(Clone)]
pub struct Gate {
    tools: Toolset,
    policies: Vec<Arc<dyn Policy>>,
    offer: Option<Arc<Offer>>,
    deciders: Option<Arc<Deciders>>,
    refine: Arc<HashMap<String, Arc<Refine>>>,
    refs: Arc<[OnceLock<Ref>]>,
}

impl Gate {
    /// A gate without policies of its own.
    pub fn new(tools: Toolset) -> Self {
        let refs = tools.iter().map(|_| OnceLock::new()).collect();
        Self { tools, policies: Vec::new(), offer: None, deciders: None, refine: Arc::default(), refs }
    }

    /// Adds a policy. Policies can only tighten.
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policies.push(policy);
        self
    }

    /// Returns whether it has policies of its own.
    pub fn has_policies(&self) -> bool {
        !self.policies.is_empty()
    }

    /// Sets which calls may be allowed for the rest of a run, and which are like one another.
    pub fn offer(mut self, offer: Arc<Offer>) -> Self {
        self.offer = Some(offer);
        self
    }

    /// Sets who may decide about a call in place of the run's owner, where anybody is named.
    pub fn deciders(mut self, deciders: Arc<Deciders>) -> Self {
        self.deciders = Some(deciders);
        self
    }

    /// Refines arguments of the tool `name` that it has accepted.
    #[cfg(feature = "agent")]
    pub(crate) fn refine(mut self, name: String, refine: Arc<Refine>) -> Self {
        Arc::make_mut(&mut self.refine).insert(name, refine);
        self
    }

    /// Sets the policies, the offer and the deciders of `other` for these tools.
    pub fn rules_of(mut self, other: &Self) -> Self {
        self.policies = other.policies.clone();
        self.offer = other.offer.clone();
        self.deciders = other.deciders.clone();
        self.refine = Arc::clone(&other.refine);
        self
    }

    /// The tools.
    pub fn tools(&self) -> &Toolset {
        &self.tools
    }

    /// Returns the reference of a run to the tool `name`.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolRef>> {
        Some(self.known(name)?.reference)
    }

    fn known(&self, name: &str) -> Option<KnownTool<'_>> {
        let (at, tool) = self.tools.find(name)?;
        let spec = tool.spec();
        let known = || (Arc::new(ToolRef::new(spec, spec.fingerprint())), Identity::of(spec));
        let (reference, identity) = self.refs[at].get_or_init(known);
        Some(KnownTool { reference, identity: *identity, spec })
    }

    /// Looks at a call of `run`: are its arguments accepted, and may it run? Waits for the validators of a tool that has some.
    pub async fn inspect(&self, run: &Run, call: &Call, cx: &Context) -> CheckedCall {
        let read = self.read(call, cx).done().await.read;
        self.judge(run, call, read, cx)
    }

    /// Lets the tool of a call read its arguments.
    pub(crate) fn read(&self, call: &Call, cx: &Context) -> Reading {
        let refined = |revision: &ArgumentRevision| revision.author == Author::Refinement;
        let is_new = call.stage() == Stage::Proposed && !call.revisions().iter().any(refined);
        let refine = self.refine.get(&call.name).filter(|_| is_new && !refined(call.arguments()));
        let text = &call.arguments().text;
        if call.is_revised() {
            return Reading::refined(&self.tools, &call.name, text, &cx.clone().revised(), refine);
        }
        Reading::refined(&self.tools, &call.name, text, cx, refine)
    }

    /// Looks at a call whose arguments were read.
    pub(crate) fn judge(&self, run: &Run, call: &Call, read: Read, cx: &Context) -> CheckedCall {
        judge::judge_call(&Bench { gate: self, cx }, run, call, read)
    }

    /// Checks a decision about an interrupt of `run`, as far as the tool can tell: edited arguments, an output, an answer.
    /// Waits for the validators of a tool that has some.
    ///
    /// Fails when they are wrong, with feedback for the person. Whether the decision may be taken at all, the run says.
    pub async fn rule(
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
        self.rule_read(run, interrupt, decision, read, cx)
    }

    /// Lets the tool of a call read the arguments that a decision gives it, if it gives any.
    pub(crate) fn read_edit(&self, name: &str, open: &Interrupt, decision: &Decision, cx: &Context) -> Option<Reading> {
        let Decision::Edit { arguments } = decision else { return None };
        let arguments = arguments.to_string().into();
        if matches!(open.kind, InterruptKind::Inner { .. }) {
            let tool = tool_of(&self.tools, name, open)?;
            let own = Toolset::of(vec![Arc::clone(tool)]).ok()?;
            return Some(Reading::begin(&own, tool.name(), &arguments, cx));
        }
        Some(Reading::begin(&self.tools, name, &arguments, cx))
    }

    /// Checks a decision; `read` is what the tool says of edited arguments.
    pub(crate) fn rule_read(
        &self,
        run: &Run,
        interrupt: &InterruptId,
        decision: Decision,
        read: Option<Read>,
        cx: &Context,
    ) -> Result<CheckedDecision, Refusal> {
        judge::judge_decision(&Bench { gate: self, cx }, run, interrupt, decision, read)
    }
}

/// A gate that judges in one context.
struct Bench<'a> {
    gate: &'a Gate,
    cx: &'a Context,
}

impl Judge for Bench<'_> {
    fn tool(&self, name: &str) -> Option<KnownTool<'_>> {
        self.gate.known(name)
    }

    fn permission(&self, spec: &ToolSpec, arguments: &str) -> Permission {
        let proposal = Proposal { spec, arguments, cx: self.cx };
        let permissions = self.gate.policies.iter().map(|policy| toolset::judge(&**policy, &proposal));
        permissions.fold(Permission::Allow, Permission::and)
    }

    fn offer(&self, spec: &ToolSpec, arguments: &Value) -> Option<Pattern> {
        self.gate.offer.as_ref()?(spec, arguments)
    }

    fn deciders(&self, spec: &ToolSpec, arguments: &Value) -> Vec<Principal> {
        self.gate.deciders.as_ref().map(|deciders| deciders(spec, arguments)).unwrap_or_default()
    }

    fn output(&self, name: &str, open: &Interrupt, given: &Value) -> Result<Output, Refusal> {
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

/// Returns the tool that the interrupt of a call of the tool `name` is about: that tool, or one inside of it.
pub fn tool_of<'a>(tools: &'a Toolset, name: &str, open: &Interrupt) -> Option<&'a Arc<dyn DynTool>> {
    let (mut tool, mut open) = (tools.get(name)?, open);
    while let InterruptKind::Inner { tool: name, interrupt, .. } = &open.kind {
        open = interrupt;
        tool = tool.inside().iter().find(|tool| tool.name() == name)?;
    }
    Some(tool)
}

/// Reads an output that a person or a client gave to a call of the tool `name` that waits for `open`.
pub fn read_output(tools: &Toolset, name: &str, open: &Interrupt, given: &Value) -> Result<Output, Refusal> {
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
    if tool.spec().traits.external {
        return tools.answer(name, &given.to_string()).map_err(|error| match error {
            CallError::Rejected(feedback) => wrong(feedback),
            _ => Refusal::ToolChanged,
        });
    }
    check_output(tool, given).map_err(wrong)?;
    Output::json(given)
        .map_err(|failure| wrong(Rejection::one(Problem::new("", ProblemKind::Invalid, failure.for_log()))))
}

fn check_output(tool: &Arc<dyn DynTool>, given: &Value) -> Result<(), Rejection> {
    let Some(schema) = &tool.spec().output else { return Ok(()) };
    let Ok(validator) = Validator::compile(schema.neutral()) else { return Ok(()) };
    let problems = validator.problems(given, "");
    if problems.is_empty() { Ok(()) } else { Err(Rejection::new(problems)) }
}
