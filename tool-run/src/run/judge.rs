//! The one place in which evidence is made; the reason for its cut stands in [`judge`](crate::judge).

use std::sync::Arc;

use serde_json::Value;

use super::evidence::{Accepted, CheckedCall, CheckedDecision, Finding, View};
use super::{
    Author, Call, CallResult, Decision, Interrupt, InterruptId, InterruptKind, Pattern, Principal, Question, Refusal,
    Run, Shown, ToolRef,
};
use crate::digest::Digest;
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::schema::Validator;
use crate::tool::{CallError, Identity, Output, Permission, Resources, ToolSpec};

/// The tools and the rules of an application, as far as the judge asks about them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what tools and policies say",
    label = "`Judge` is not implemented"
)]
pub trait Judge {
    /// Returns the tool `name`.
    fn tool(&self, name: &str) -> Option<KnownTool<'_>>;

    /// Returns the permission that the policies give a call of the tool `spec`, which accepted `arguments`.
    fn permission(&self, spec: &ToolSpec, arguments: &str) -> Permission;

    /// Returns which calls like this one can be allowed for the rest of the run.
    fn offer(&self, spec: &ToolSpec, arguments: &Value) -> Option<Pattern>;

    /// Returns who may decide about the call; nobody for the run's owner.
    fn deciders(&self, spec: &ToolSpec, arguments: &Value) -> Vec<Principal>;

    /// Reads an output that somebody gave to the call of the tool `name` that waits for `open`, or to the call inside of it.
    fn output(&self, name: &str, open: &Interrupt, given: &Value) -> Result<Output, Refusal>;
}

/// A tool of an application.
#[derive(Clone, Copy, Debug)]
pub struct KnownTool<'a> {
    /// The reference that a run keeps of it.
    pub reference: &'a Arc<ToolRef>,
    /// The fingerprints by which records know it.
    pub identity: Identity,
    /// Its definition.
    pub spec: &'a ToolSpec,
}

/// Arguments as their tool has read them.
#[derive(Debug)]
pub struct Read {
    /// The text that was read.
    pub text: Arc<str>,
    /// The arguments that the tool accepts, or why it refuses them.
    pub outcome: Result<Taken, CallError>,
}

/// Arguments that a tool accepts.
#[derive(Debug)]
pub struct Taken {
    /// Set if the tool itself wants an approval.
    pub needs_approval: bool,
    /// The arguments as validators changed them, where they did.
    pub normalized: Option<Arc<str>>,
    /// The resources that the call reads and writes, where the tool names them.
    pub touches: Option<Arc<Resources>>,
    /// The author of the last change of the arguments.
    pub author: Author,
}

impl Read {
    /// Returns what a person is shown of the arguments that would be used.
    ///
    /// Fails with what is wrong with them.
    pub fn shown(&self, spec: &ToolSpec) -> Result<Shown, Rejection> {
        match &self.outcome {
            Ok(taken) => Shown::new(spec, taken.normalized.as_deref().unwrap_or(&self.text), &[]),
            Err(CallError::Rejected(feedback)) => Err(feedback.clone()),
            Err(error) => Err(error.feedback().cloned().unwrap_or_else(|| Rejection::from_message(error.to_string()))),
        }
    }
}

/// Judges a call of `run` whose arguments were read.
pub fn judge_call(judge: &impl Judge, run: &Run, call: &Call, read: Read) -> CheckedCall {
    let Read { text, outcome } = read;
    let is_same = Arc::ptr_eq(&text, &call.arguments().text);
    let digest = if is_same { call.arguments().digest } else { Digest::of(text.as_bytes()) };
    let known = judge.tool(&call.name);
    let tool = known.map(|known| known.identity);
    let (mut normalized, author, finding) = match outcome {
        Ok(taken) => {
            let arguments = taken.normalized.as_deref().unwrap_or(&text);
            let finding = find(judge, run, known, arguments, &taken);
            (taken.normalized, taken.author, finding)
        }
        Err(error) => (None, Author::Validators, Finding::Ended(CallResult::refused(error))),
    };
    normalized = normalized.filter(|_| matches!(finding, Finding::Accepted(_)));
    CheckedCall { call: call.id.clone(), text, arguments: digest, normalized, author, tool, finding }
}

/// Judges a decision about an interrupt of `run`, as far as the tool can tell. `read` is what the tool says of edited
/// arguments.
///
/// Fails when they, the output or the answer are wrong. Whether the decision may be taken at all, the run says.
pub fn judge_decision(
    judge: &impl Judge,
    run: &Run,
    interrupt: &InterruptId,
    decision: Decision,
    read: Option<Read>,
) -> Result<CheckedDecision, Refusal> {
    let (mut inspection, mut output) = (None, None);
    if let (Some(open), Some(call)) = (run.interrupt(interrupt), run.call(&interrupt.call)) {
        match &decision {
            decision if matches!(open.kind, InterruptKind::Inner { .. }) => {
                judge_inside(judge, &call.name, open, decision, read)?;
            }
            Decision::Edit { .. } => inspection = read.map(|read| judge_call(judge, run, call, read)),
            Decision::Respond { output: given } => output = Some(judge.output(&call.name, open, given)?),
            Decision::Answer { value } => fits(&open.kind, value)?,
            _ => {}
        }
    }
    Ok(CheckedDecision { interrupt: interrupt.clone(), decision, inspection, output })
}

/// Checks a decision about something inside of a call, as far as the tool inside can tell.
fn judge_inside(
    judge: &impl Judge,
    name: &str,
    open: &Interrupt,
    decision: &Decision,
    read: Option<Read>,
) -> Result<(), Refusal> {
    let changed = |error| match error {
        CallError::Rejected(feedback) => Refusal::Invalid { feedback },
        CallError::PolicyDenied { reason } => Refusal::PolicyDenied { reason },
        _ => Refusal::ToolChanged,
    };
    match decision {
        Decision::Edit { .. } => read.ok_or(Refusal::ToolChanged)?.outcome.map(drop).map_err(changed),
        Decision::Respond { output } => judge.output(name, open, output).map(drop),
        Decision::Answer { value } => fits(&open.innermost().kind, value),
        _ => Ok(()),
    }
}

fn find(judge: &impl Judge, run: &Run, known: Option<KnownTool<'_>>, arguments: &str, taken: &Taken) -> Finding {
    let Some(KnownTool { reference: tool, spec, .. }) = known else {
        return Finding::Ended(CallResult::NotAvailable { suggestion: None });
    };
    let own = if taken.needs_approval { Permission::Ask } else { Permission::Allow };
    let permission = run.tighten(tool, own.and(judge.permission(spec, arguments)));
    let mut view = None;
    if permission == Permission::Ask || tool.external {
        match view_of(judge, run, spec, arguments) {
            Ok(seen) => view = Some(Box::new(seen)),
            Err(feedback) => return Finding::Ended(CallResult::Rejected { feedback }),
        }
    }
    Finding::Accepted(Accepted { tool: Arc::clone(tool), permission, touches: taken.touches.clone(), view })
}

fn view_of(judge: &impl Judge, run: &Run, spec: &ToolSpec, arguments: &str) -> Result<View, Rejection> {
    let shown = Shown::new(spec, arguments, &run.taint)?;
    let written = spec.written(arguments)?;
    // A pattern that does not even cover this call would be asked about again and again.
    let offer = judge.offer(spec, &shown.arguments).filter(|pattern| pattern.covers(&written));
    let deciders = judge.deciders(spec, &shown.arguments);
    Ok(View { shown, written, offer, deciders })
}

/// Checks an answer against the question that it answers, if `kind` is one.
fn fits(kind: &InterruptKind, value: &Value) -> Result<(), Refusal> {
    let InterruptKind::Answer { question: Question { schema: Some(schema), .. } } = kind else { return Ok(()) };
    let invalid = |reason: String| Rejection::one(Problem::new("", ProblemKind::Invalid, reason));
    let validator =
        Validator::compile(schema).map_err(|error| Refusal::Invalid { feedback: invalid(error.to_string()) })?;
    let problems = validator.problems(value, "");
    if problems.is_empty() { Ok(()) } else { Err(Refusal::Invalid { feedback: Rejection::new(problems) }) }
}
