//! The judge, which alone creates evidence; [`judge`](crate::judge) explains why. Only [`Run::apply`], and
//! `Run::thaw`, which restores a snapshot, create a [`Grant`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::message::Part;
use crate::run::{
    ArgumentPattern, Author, Call, CallId, CallResult, CallView, Decision, Extent, Interrupt, InterruptId,
    InterruptKind, OnTaint, Principal, Question, Refusal, Run, RunId, Timestamp, ToolRef,
};
use crate::schema::{CompiledSchema, ReadText};
use crate::tool::fingerprint::Digest;
use crate::tool::{CallError, Effect, Fingerprint, KnownFingerprints, Output, Permission, ToolSpec, TouchedResources};

/// The rules of an application, which the judge consults.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot provide the rules of an application",
    label = "`Rules` is not implemented"
)]
pub trait Rules {
    /// Returns the permission that the policies give to a call of the tool `spec`, which accepted `arguments`.
    fn authorize(&self, spec: &ToolSpec, arguments: &str) -> Permission;

    /// Returns the pattern of similar calls that a person can allow for the rest of the run.
    fn run_approval(&self, spec: &ToolSpec, arguments: &Value) -> Option<ArgumentPattern>;

    /// Returns the principals that may decide about the call; an empty list means the run's owner.
    fn deciders(&self, spec: &ToolSpec, arguments: &Value) -> Vec<Principal>;

    /// Reads a person's output for a call of the tool `name` that waits for `open`. If `open` belongs to an inner call, the
    /// output is for the innermost call. Fails if the output does not fit.
    fn read_output(&self, name: &str, open: &Interrupt, given: &Value) -> Result<Output, Refusal>;
}

/// A tool that the application has.
#[derive(Clone, Copy, Debug)]
pub struct KnownTool<'a> {
    /// The reference that a run stores.
    pub reference: &'a Arc<ToolRef>,
    /// The fingerprints by which stored runs identify the tool.
    pub fingerprints: KnownFingerprints,
    /// The tool's definition.
    pub spec: &'a ToolSpec,
}

/// Arguments that their tool has read.
#[derive(Debug)]
pub struct ReadArguments {
    /// The text that was read.
    pub text: Arc<str>,
    /// The arguments that the tool accepts, or the reason why it rejects them.
    pub outcome: Result<AcceptedArguments, CallError>,
}

/// Arguments that a tool accepts.
#[derive(Debug)]
pub struct AcceptedArguments {
    /// Set if the tool itself requires an approval.
    pub needs_approval: bool,
    /// The arguments as changed by validators, if they changed them.
    pub normalized: Option<Arc<str>>,
    /// The resources that the call reads and writes, if the tool names them.
    pub touches: Option<Arc<TouchedResources>>,
    /// The author of the last change of the arguments.
    pub author: Author,
    /// The arguments as they were read in another form than the model sent them, before validators and refinements.
    pub reading: Option<Arc<ReadText>>,
}

impl AcceptedArguments {
    /// Creates accepted arguments, whose last change is by validators.
    pub fn new(needs_approval: bool, normalized: Option<Arc<str>>, touches: Option<Arc<TouchedResources>>) -> Self {
        Self { needs_approval, normalized, touches, author: Author::Validators, reading: None }
    }

    /// Returns the arguments that were read as `reading` before the tool accepted them.
    pub fn read_as(self, reading: Arc<ReadText>) -> Self {
        match self.normalized {
            Some(_) => Self { reading: Some(reading), ..self },
            None => {
                let text = Some(Arc::from(&*reading.text));
                Self { normalized: text, author: Author::Reading, reading: Some(reading), ..self }
            }
        }
    }
}

impl ReadArguments {
    /// Returns the view of the call that a person would see with these arguments.
    ///
    /// Fails with the problems if the tool rejects the arguments, or if they are not a JSON object.
    pub fn shown(&self, spec: &ToolSpec) -> Result<CallView, Rejection> {
        match &self.outcome {
            Ok(accepted) => CallView::new(spec, accepted.normalized.as_deref().unwrap_or(&self.text), &[]),
            Err(error) => Err(self.feedback(error)),
        }
    }

    /// Returns the feedback of a failed reading for a person.
    fn feedback(&self, error: &CallError) -> Rejection {
        let whole = || Rejection::from_message(error.to_string()).with_causes(self.cause());
        error.rejection().cloned().unwrap_or_else(whole)
    }

    /// Returns these arguments, unless the tool failed when it read them. Then a person may try again, or decide otherwise.
    fn unless_failed(self) -> Result<Self, Refusal> {
        match &self.outcome {
            Err(error @ CallError::Failed(_)) => Err(Refusal::Invalid { feedback: self.feedback(error) }),
            _ => Ok(self),
        }
    }

    /// Returns the cause for which the tool does not accept the arguments, for observers only. Returns `None` if the model
    /// receives everything.
    pub fn cause(&self) -> Option<String> {
        match self.outcome.as_ref().err()? {
            CallError::Rejected(rejection) => {
                Some(rejection.causes().join("\n")).filter(|_| !rejection.causes().is_empty())
            }
            error @ (CallError::Failed(_) | CallError::Panicked { .. }) => Some(error.for_log()),
            _ => None,
        }
    }
}

/// Judges a call of `run` whose arguments its tool has read. `known` is the application's tool with the call's name.
pub fn judge_call(
    rules: &impl Rules,
    known: Option<KnownTool<'_>>,
    run: &Run,
    call: &Call,
    read: ReadArguments,
) -> CheckedCall {
    let ReadArguments { text, outcome } = read;
    let is_same = Arc::ptr_eq(&text, &call.arguments().text);
    let digest = if is_same { call.arguments().digest } else { Digest::of(text.as_bytes()) };
    // A tool of another name is not the tool that the model called.
    let known = known.filter(|known| known.spec.name == call.name);
    let tool = known.map(|known| known.fingerprints);
    let (mut normalized, author, reading, verdict) = match outcome {
        Ok(accepted) => {
            let arguments = accepted.normalized.as_deref().unwrap_or(&text);
            let verdict = judge_arguments(rules, run, known, arguments, &accepted);
            (accepted.normalized, accepted.author, accepted.reading, verdict)
        }
        Err(error) => (None, Author::Validators, None, Verdict::Ended(ended_result(error))),
    };
    normalized = normalized.filter(|_| matches!(verdict, Verdict::Accepted(_)));
    CheckedCall { call: call.id.clone(), text, arguments: digest, normalized, author, reading, tool, verdict }
}

/// Judges a decision about an interrupt of `run`: its edited arguments, output or answer. `read` holds the edited arguments as
/// the tool read them, and `known` is the application's tool with the call's name.
///
/// Fails if these arguments, the output or the answer are wrong. [`advance`](super::advance) checks whether the decision is allowed.
pub fn judge_decision(
    rules: &impl Rules,
    known: Option<KnownTool<'_>>,
    run: &Run,
    interrupt: &InterruptId,
    decision: Decision,
    read: Option<ReadArguments>,
) -> Result<CheckedDecision, Refusal> {
    let read = read.map(ReadArguments::unless_failed).transpose()?;
    let judged = match (run.interrupt(interrupt), run.call(&interrupt.call)) {
        (Some(open), Some(call)) => judge_open(rules, known, run, (open, call), &decision, read)?,
        _ => Judged::NotOffered,
    };
    Ok(CheckedDecision { interrupt: interrupt.clone(), decision, judged })
}

/// Judges a decision about the open interrupt `open` of `call`.
fn judge_open(
    rules: &impl Rules,
    known: Option<KnownTool<'_>>,
    run: &Run,
    (open, call): (&Interrupt, &Call),
    decision: &Decision,
    read: Option<ReadArguments>,
) -> Result<Judged, Refusal> {
    if let InterruptKind::Inner { .. } = open.kind {
        judge_inside(rules, &call.name, open, decision, read)?;
        return Ok(Judged::Inside);
    }
    Ok(match decision {
        Decision::Approve => Judged::Approved,
        Decision::ApproveForRun => Judged::ApprovedForRun,
        Decision::Edit { .. } => match read {
            Some(read) => Judged::Edited(Box::new(judge_call(rules, known, run, call, read))),
            None => Judged::NotOffered,
        },
        Decision::Respond { output } => Judged::Responded(rules.read_output(&call.name, open, output)?),
        Decision::Answer { value } => {
            check_answer(&open.kind, value)?;
            Judged::Answered(value.clone())
        }
        Decision::Deny { reason } => Judged::Denied(reason.clone()),
        Decision::Fail { error } => Judged::Failed(error.clone()),
    })
}

/// Checks the edited arguments, the output or the answer in a decision about an inner call.
fn judge_inside(
    rules: &impl Rules,
    name: &str,
    open: &Interrupt,
    decision: &Decision,
    read: Option<ReadArguments>,
) -> Result<(), Refusal> {
    let changed = |error| match error {
        CallError::Rejected(feedback) => Refusal::Invalid { feedback },
        CallError::PolicyDenied { reason } => Refusal::PolicyDenied { reason },
        _ => Refusal::ToolChanged,
    };
    match decision {
        Decision::Edit { .. } => read.ok_or(Refusal::ToolChanged)?.outcome.map(drop).map_err(changed),
        Decision::Respond { output } => rules.read_output(name, open, output).map(drop),
        Decision::Answer { value } => check_answer(&open.innermost().kind, value),
        _ => Ok(()),
    }
}

fn judge_arguments(
    rules: &impl Rules,
    run: &Run,
    known: Option<KnownTool<'_>>,
    arguments: &str,
    accepted: &AcceptedArguments,
) -> Verdict {
    let Some(KnownTool { reference: tool, spec, .. }) = known else {
        return Verdict::Ended(CallResult::NotAvailable { suggestion: None });
    };
    let own = if accepted.needs_approval { Permission::Ask } else { Permission::Allow };
    let permission = run.tighten(tool, own.and(rules.authorize(spec, arguments)));
    let mut view = None;
    if permission == Permission::Ask || tool.external {
        match build_view(rules, run, spec, arguments) {
            Ok(seen) => view = Some(Box::new(seen)),
            Err(feedback) => return Verdict::Ended(CallResult::Rejected { feedback }),
        }
    }
    Verdict::Accepted(Accepted { tool: Arc::clone(tool), permission, touches: accepted.touches.clone(), view })
}

fn build_view(rules: &impl Rules, run: &Run, spec: &ToolSpec, arguments: &str) -> Result<ApprovalView, Rejection> {
    let shown = CallView::new(spec, arguments, &run.taint)?;
    let argument_texts = spec.argument_texts(arguments)?;
    // The pattern must cover this call. Otherwise the run would ask again about an equal call.
    let offer = rules.run_approval(spec, &shown.arguments).filter(|pattern| pattern.covers(&argument_texts));
    let deciders = rules.deciders(spec, &shown.arguments);
    Ok(ApprovalView { shown, argument_texts, offer, deciders })
}

/// Returns the result of a call that a check ended: its arguments were rejected, or a policy denied it.
fn ended_result(error: CallError) -> CallResult {
    match error {
        CallError::NotAvailable { suggestion, .. } => CallResult::NotAvailable { suggestion },
        CallError::Rejected(feedback) => CallResult::Rejected { feedback },
        CallError::PolicyDenied { reason } | CallError::Denied { reason } => CallResult::PolicyDenied { reason },
        CallError::LimitReached { limit } => CallResult::LimitReached { limit },
        CallError::Panicked { .. } => CallResult::failed_before_start(true),
        error => CallResult::failed(&error, Effect::ReadOnly),
    }
}

impl Run {
    /// Returns the permission of a call of `tool`: the stricter one of `permission` and the run's own rule ([`OnTaint`]).
    pub(super) fn tighten(&self, tool: &ToolRef, permission: Permission) -> Permission {
        let asks = self.options.on_taint == OnTaint::Ask && !self.taint.is_empty() && tool.effect != Effect::ReadOnly;
        if asks { permission.and(Permission::Ask) } else { permission }
    }
}

/// Checks an answer against the schema of the question, if `kind` is a question with a schema.
fn check_answer(kind: &InterruptKind, value: &Value) -> Result<(), Refusal> {
    let InterruptKind::Question { question: Question { schema: Some(schema), .. } } = kind else { return Ok(()) };
    let invalid = |reason: String| Rejection::one(Problem::new("", ProblemKind::Invalid, reason));
    let compiled =
        CompiledSchema::compile(schema).map_err(|error| Refusal::Invalid { feedback: invalid(error.to_string()) })?;
    let problems = compiled.problems(value, "");
    if problems.is_empty() { Ok(()) } else { Err(Refusal::Invalid { feedback: Rejection::new(problems) }) }
}

/// A call that was checked, for [`LogInput::Checked`](super::LogInput::Checked).
///
/// A checked call is evidence: only the judge creates it. It is valid for one call with one text of arguments.
#[derive(Debug)]
pub struct CheckedCall {
    pub(super) call: CallId,
    /// The arguments that were checked.
    pub(super) text: Arc<str>,
    pub(super) arguments: Digest,
    /// The arguments as changed by the tool's validators, if they changed them.
    pub(super) normalized: Option<Arc<str>>,
    /// The author of the last change.
    pub(super) author: Author,
    /// The arguments as they were read, before validators and refinements changed them.
    pub(super) reading: Option<Arc<ReadText>>,
    /// The fingerprints of the tool that read the arguments.
    pub(super) tool: Option<KnownFingerprints>,
    pub(super) verdict: Verdict,
}

impl CheckedCall {
    /// Returns the content for the model, if the tool does not exist or rejects the arguments.
    pub fn for_model(&self, name: &str) -> Option<Vec<Part>> {
        match &self.verdict {
            Verdict::Ended(result @ (CallResult::Rejected { .. } | CallResult::NotAvailable { .. })) => {
                Some(result.for_model(name, Extent::DidNotRun))
            }
            _ => None,
        }
    }

    /// Returns the problems of the arguments, if the tool rejects them.
    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.verdict {
            Verdict::Ended(CallResult::Rejected { feedback }) => Some(feedback),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub enum Verdict {
    Accepted(Accepted),
    /// The call ends without running.
    Ended(CallResult),
}

/// A call whose tool accepts the arguments.
#[derive(Debug)]
pub struct Accepted {
    pub tool: Arc<ToolRef>,
    pub permission: Permission,
    /// The resources that the call reads and writes, if the tool names them.
    pub touches: Option<Arc<TouchedResources>>,
    /// The view of the call; present if a person may have to decide.
    pub view: Option<Box<ApprovalView>>,
}

/// The view of a call, and the principals that may decide about it.
#[derive(Debug)]
pub struct ApprovalView {
    pub shown: CallView,
    /// The names and JSON texts of the arguments. Numbers are not rounded, and defaults are filled in.
    pub argument_texts: Vec<(String, String)>,
    /// The pattern of similar calls that a person can allow for the rest of the run.
    pub offer: Option<ArgumentPattern>,
    /// The principals that may decide; only the run's owner if the list is empty.
    pub deciders: Vec<Principal>,
}

/// A decision that was checked, for [`LogInput::Decide`](super::LogInput::Decide). A checked decision is evidence: only the
/// judge creates it.
#[derive(Debug)]
pub struct CheckedDecision {
    /// The interrupt for which the judge checked the decision.
    pub(super) interrupt: InterruptId,
    pub(super) decision: Decision,
    pub(super) judged: Judged,
}

/// The judge's verdict on a decision.
#[derive(Debug)]
pub enum Judged {
    Approved,
    ApprovedForRun,
    /// The edited call was checked.
    Edited(Box<CheckedCall>),
    /// The call has this output, as the tool's output type reads it.
    Responded(Output),
    /// The answer fits the question.
    Answered(Value),
    Denied(Option<String>),
    Failed(String),
    /// The decision is about a call inside the call, and fits its interrupt.
    Inside,
    /// The interrupt is not open, or does not accept the decision.
    NotOffered,
}

/// The right to start one call once, with certain arguments and a certain tool.
///
/// Only [`Run::apply`] and [`Run::thaw`] create grants: there is no constructor, no `Clone` and no `Deserialize`.
///
/// ```compile_fail
/// fn twice(grant: &tool_run::run::Grant) -> tool_run::run::Grant {
///     grant.clone()
/// }
/// ```
///
/// ```compile_fail
/// let grant: tool_run::run::Grant = serde_json::from_str("{}").unwrap();
/// ```
#[derive(Debug, PartialEq)]
pub struct Grant {
    pub(super) run: RunId,
    pub(super) call: CallId,
    pub(super) tool: Fingerprint,
    pub(super) arguments: Digest,
    pub(super) shown: Option<Digest>,
    pub(super) by: GrantedBy,
    pub(super) expires: Option<Timestamp>,
}

/// The giver of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GrantedBy {
    /// The policies, without a question to a person.
    Policy,
    /// A person, by a decision about this call.
    Person(Principal),
    /// A person, by an earlier decision that covers calls like this one.
    RunApproval(Principal),
    /// The run: the previous attempt failed, and may be retried.
    Retry,
    /// The run: the process that ran the call died, and the call may start again without a decision.
    Rerun,
}

impl Grant {
    /// Returns the id of the run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the id of the call that may start.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Returns the fingerprint of the tool to which the grant is bound.
    pub fn tool(&self) -> Fingerprint {
        self.tool
    }

    /// Returns the digest of the arguments to which the grant is bound.
    pub fn arguments(&self) -> Digest {
        self.arguments
    }

    /// Returns the digest of the view that the deciding person saw.
    pub fn shown(&self) -> Option<Digest> {
        self.shown
    }

    /// Returns the giver of the grant.
    pub fn by(&self) -> &GrantedBy {
        &self.by
    }

    /// Returns the time at which the grant expires; `None` for never.
    pub fn expires(&self) -> Option<Timestamp> {
        self.expires
    }
}
