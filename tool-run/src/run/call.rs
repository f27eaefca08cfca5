//! One call of a run: its tool, its history and its result.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::feedback::Rejection;
use crate::message::{Part, quote_rejection};
use crate::run::{
    CallId, Decision, Grant, Handover, Interrupt, InterruptId, InterruptKind, Principal, Question, QuestionAnswer,
    Timestamp, is_default,
};
use crate::tool::error::{because, not_available, rejection_part};
use crate::tool::fingerprint::Digest;
use crate::tool::{CallError, Effect, Fingerprint, Output, ToolSpec, TouchedResources};

/// One call of a run: the model's request, its history and its result.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call {
    /// The call's id in this run.
    pub id: CallId,
    /// The id that the model's provider gave the call. It need not be unique, and decides nothing.
    pub provider_id: String,
    /// The number of the turn that made the call, from 1.
    pub turn: u32,
    /// The position in that turn, from 0.
    pub index: u32,
    /// The name that the model called.
    pub name: String,
    /// The tool, once the arguments were accepted.
    pub tool: Option<Arc<ToolRef>>,
    /// The number of times that the call was started.
    pub attempts: u32,
    /// The number of failed attempts that were retried.
    pub retries: u32,
    /// The present state, with its data: an open interrupt, a grant, or the result.
    pub state: CallState,
    pub(super) arguments: ArgumentRevision,
    pub(super) touches: Option<Arc<TouchedResources>>,
    /// Set while the call waits for another first check, after one had accepted it.
    pub(super) was_accepted: bool,
    pub(super) past: Option<Box<CallHistory>>,
}

/// The tool of a call, as it was when the arguments were accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolRef {
    /// The name.
    pub name: String,
    /// The origin of the tool, if it is not part of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The digest of the tool's definition.
    pub fingerprint: Fingerprint,
    /// The version of the tool's behaviour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The effect on the world.
    pub effect: Effect,
    /// Set if two identical calls have the same effect as one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// Set if the call is executed outside this program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Set if the call runs alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sequential: bool,
    /// Set if the call may start before the model's turn ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub eager: bool,
    /// Set if the output may contain untrusted text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Set if durable steps hold everything that must not happen twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumable: bool,
    /// The number of times that a failed call may be retried.
    #[serde(default, skip_serializing_if = "is_default")]
    pub max_retries: u32,
    /// The earlier versions whose waiting calls this one takes over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub migrate_from: Vec<String>,
}

impl ToolRef {
    /// Returns the reference that a run keeps to the tool `spec`.
    pub fn new(spec: &ToolSpec, fingerprint: Fingerprint) -> Self {
        let options = &spec.options;
        Self {
            name: spec.name.clone(),
            origin: options.origin.clone(),
            fingerprint,
            version: options.version.clone(),
            effect: options.effect,
            idempotent: options.idempotent,
            external: options.external,
            sequential: options.sequential,
            eager: options.eager,
            untrusted: options.untrusted || options.open_world,
            resumable: options.resumable,
            max_retries: options.retries,
            migrate_from: options.migrate_from.clone(),
        }
    }

    /// Returns whether a second start of a call does no harm.
    pub fn is_repeatable(&self) -> bool {
        self.idempotent || self.effect == Effect::ReadOnly
    }

    /// Returns whether the log records the start of each durable step.
    pub fn records_step_starts(&self) -> bool {
        self.resumable && !self.is_repeatable()
    }

    /// Returns whether a call may start before the model's turn ends.
    pub fn may_be_early(&self) -> bool {
        self.eager && self.is_repeatable() && !self.external && !self.sequential
    }
}

/// The state of a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallState {
    /// The model made the call; its arguments are not checked yet.
    Proposed,
    /// The call waits for a decision.
    Open(Box<Interrupt>),
    /// The call may start.
    Ready(Box<Grant>),
    /// The call was started.
    Running,
    /// The process that ran the call died, and the log has no result.
    Lost,
    /// The call ended. This state is final.
    Done(Arc<CallResult>),
}

/// The state of a call without its data: the names of [`CallState`].
#[allow(missing_docs, reason = "the states are documented at `CallState`")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    Proposed,
    Open,
    Ready,
    Running,
    Lost,
    Done,
}

/// The extent to which a call may have run, which decides what the texts about its result claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The call did not run.
    DidNotRun,
    /// The call may have run, and its tool only reads.
    OnlyRead,
    /// The call may have had effects.
    MayHaveEffects,
}

impl Extent {
    /// Returns the extent of a call that may have run, of a tool with this effect.
    fn of_started(effect: Effect) -> Self {
        if effect == Effect::ReadOnly { Self::OnlyRead } else { Self::MayHaveEffects }
    }

    /// Returns the clause that ends a sentence about the call; empty if there is nothing to say.
    fn clause(self) -> &'static str {
        match self {
            Self::DidNotRun => "; it did not run",
            Self::OnlyRead => "",
            Self::MayHaveEffects => "; it may have had effects",
        }
    }
}

impl Call {
    /// Returns the present arguments.
    pub fn arguments(&self) -> &ArgumentRevision {
        &self.arguments
    }

    /// Returns the arguments that were replaced, oldest first.
    pub fn revisions(&self) -> &[ArgumentRevision] {
        self.past.as_ref().map_or(&[], |past| &past.revisions)
    }

    /// Returns sentences about the values that were read in another form than the model sent them. If a person replaced the arguments,
    /// there are none.
    pub fn readings(&self) -> &[String] {
        let past = self.past.as_ref().filter(|_| self.arguments.by.is_none());
        past.map_or(&[], |past| &past.readings)
    }

    /// Returns the handover to another agent that the call led to.
    pub(super) fn handover(&self) -> Option<&Handover> {
        self.past.as_ref()?.handover.as_deref()
    }

    /// Returns the text of the arguments as the model sent them, if some values were read in another form, or else the present one.
    pub(super) fn sent(&self) -> &str {
        let read = self.past.iter().find(|past| !past.readings.is_empty());
        read.and_then(|past| past.revisions.first()).map_or(&self.arguments.text, |sent| &sent.text)
    }

    /// Returns whether values of the arguments may be read in another form: the model wrote them, and no check has accepted them before.
    pub fn may_be_read(&self) -> bool {
        matches!(self.state, CallState::Proposed) && self.arguments.author == Author::Model && !self.was_accepted
    }

    /// Returns the result as content for the model, with the readings of the arguments. Returns `None` if the call has not ended.
    pub fn for_model(&self) -> Option<Vec<Part>> {
        Some(with_readings(self.result()?.for_model(&self.name, self.extent()), self.readings()))
    }

    /// Returns whether the call has left [`Stage::Proposed`], and its first arguments were replaced.
    pub fn is_revised(&self) -> bool {
        !matches!(self.state, CallState::Proposed) && !self.revisions().is_empty()
    }

    /// Returns the answered questions of the tool, in order.
    pub fn answers(&self) -> &[AnsweredQuestion] {
        self.past.as_ref().map_or(&[], |past| &past.answers)
    }

    /// Returns the durable steps that have a result, in order.
    pub fn steps(&self) -> &[DurableStep] {
        self.past.as_ref().map_or(&[], |past| &past.steps)
    }

    /// Returns the names of durable steps that began and have no result: they failed, are running, or have an unknown outcome.
    pub fn started_steps(&self) -> &[String] {
        self.past.as_ref().map_or(&[], |past| &past.started_steps)
    }

    /// Returns whether the call may start again, without a decision, after its process died.
    ///
    /// This holds if a second start does no harm, or if a `resumable` tool was between two steps.
    pub fn may_start_again(&self) -> bool {
        let may = |tool: &ToolRef| tool.is_repeatable() || tool.resumable && self.started_steps().is_empty();
        self.tool.as_deref().is_some_and(may)
    }

    /// Returns the open interrupt of the call.
    pub fn interrupt(&self) -> Option<&Interrupt> {
        match &self.state {
            CallState::Open(interrupt) => Some(interrupt),
            _ => None,
        }
    }

    /// Returns the time at which the open interrupt or the grant expires.
    pub(super) fn expires(&self) -> Option<Timestamp> {
        match &self.state {
            CallState::Open(open) => open.expires_at,
            CallState::Ready(grant) => grant.expires,
            _ => None,
        }
    }

    /// Returns the result of the call.
    pub fn result(&self) -> Option<&CallResult> {
        match &self.state {
            CallState::Done(result) => Some(result),
            _ => None,
        }
    }

    /// Returns the state without its data.
    pub fn stage(&self) -> Stage {
        match self.state {
            CallState::Proposed => Stage::Proposed,
            CallState::Open(_) => Stage::Open,
            CallState::Ready(_) => Stage::Ready,
            CallState::Running => Stage::Running,
            CallState::Lost => Stage::Lost,
            CallState::Done(_) => Stage::Done,
        }
    }

    /// Returns whether the call may have run: it was started here, or an outside client may have executed it. If a person denied
    /// an announced call, its client did not execute it.
    pub fn may_have_run(&self) -> bool {
        let is_denied = || matches!(self.result(), Some(CallResult::Denied { .. }));
        self.attempts > 0 || self.past.as_ref().is_some_and(|past| past.announced) && !is_denied()
    }

    /// Returns the extent to which the call may have run, for [`CallResult::for_model`] and [`CallResult::for_people`].
    pub fn extent(&self) -> Extent {
        match self.tool.as_deref() {
            _ if !self.may_have_run() => Extent::DidNotRun,
            Some(tool) => Extent::of_started(tool.effect),
            None => Extent::MayHaveEffects,
        }
    }

    /// Returns whether the function of the started call may not have begun: this is the first start, and the call has neither
    /// asked nor recorded anything.
    pub fn may_be_withdrawn(&self) -> bool {
        self.attempts == 1 && self.answers().is_empty() && self.steps().is_empty() && self.started_steps().is_empty()
    }

    /// Returns the decisions about the call and their authors, oldest first.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = (&Decision, &Principal)> {
        self.past.iter().flat_map(|past| &past.decisions).map(|decided| (&decided.decision, &decided.by))
    }

    /// Returns the ids of all interrupts of the call, open and closed.
    pub fn interrupt_ids(&self) -> impl Iterator<Item = InterruptId> {
        (1..self.next_interrupt_id().number).map(|number| InterruptId { call: self.id.clone(), number })
    }

    pub(super) fn next_interrupt_id(&self) -> InterruptId {
        let number = self.past.as_ref().map_or(0, |past| past.interrupts).saturating_add(1);
        InterruptId { call: self.id.clone(), number }
    }

    pub(super) fn decided(&self, interrupt: u32) -> Option<&DecisionRecord> {
        self.past.as_ref()?.decisions.iter().find(|decided| decided.interrupt == interrupt)
    }

    /// Returns the resources that the call touches with its present arguments, if its tool names them.
    pub fn touches(&self) -> Option<&TouchedResources> {
        self.touches.as_deref()
    }

    /// Returns whether the running tool waits for an answer, or for a decision about a call inside it.
    pub(super) fn is_asking(&self) -> bool {
        let kind = self.interrupt().map(|open| &open.kind);
        matches!(
            kind,
            Some(InterruptKind::Question { question: Question { need: None, .. } } | InterruptKind::Inner { .. })
        )
    }

    /// Returns whether a person's last decision was that the call has what it needs, and no person has approved the call itself since it
    /// was last checked for the first time. A call whose tool has begun before is not asked about again.
    pub(super) fn has_only_its_needs(&self) -> bool {
        use Decision::{Approve, ApproveForRun, Edit};
        let Some(past) = &self.past else { return false };
        let is_need = |decided: &DecisionRecord| past.needs.contains(&decided.interrupt);
        let is_approval = |decided: &DecisionRecord| {
            matches!(decided.decision, Approve | ApproveForRun | Edit { .. })
                && !is_need(decided)
                && decided.interrupt > past.forgotten
        };
        self.attempts == 0 && past.decisions.last().is_some_and(is_need) && !past.decisions.iter().any(is_approval)
    }

    /// Returns how often the call has waited for what it needs before it starts.
    pub(super) fn count_needs(&self) -> usize {
        self.past.as_ref().map_or(0, |past| past.needs.len())
    }

    /// Replaces the arguments, and keeps the old ones.
    pub(super) fn revise(&mut self, next: ArgumentRevision) {
        let before = std::mem::replace(&mut self.arguments, next);
        self.history_mut().revisions.push(before);
    }

    /// Makes a call that was accepted, and has not begun, wait for another first check.
    pub(super) fn forget_check(&mut self) {
        (self.tool, self.touches, self.was_accepted) = (None, None, true);
        if let Some(past) = &mut self.past {
            past.forgotten = past.interrupts;
        }
    }

    pub(super) fn history_mut(&mut self) -> &mut CallHistory {
        self.past.get_or_insert_default()
    }
}

/// The history of a call. Most calls have none, so it is boxed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CallHistory {
    pub revisions: Vec<ArgumentRevision>,
    /// The number of interrupts so far.
    pub interrupts: u32,
    /// The number of the last interrupt whose decision replaced the arguments, or 0.
    #[serde(default)]
    pub last_edit: u32,
    /// Set if the call was announced to its outside executor.
    #[serde(default)]
    pub announced: bool,
    /// The decisions about the interrupts.
    pub decisions: Vec<DecisionRecord>,
    /// The numbers of the interrupts that waited for what the call needs before it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<u32>,
    /// The number of the last interrupt before the call got another first check, or 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub forgotten: u32,
    /// The questions of the tool and their answers, in order.
    pub answers: Vec<AnsweredQuestion>,
    pub steps: Vec<DurableStep>,
    /// The names of the durable steps that began and have no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub started_steps: Vec<String>,
    /// Sentences about the values that were read in another form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<String>,
    /// The handover to another agent that the call led to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Box<Handover>>,
}

/// A decision that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecord {
    pub interrupt: u32,
    pub decision: Decision,
    pub by: Principal,
}

/// A question of a tool, and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnsweredQuestion {
    /// The digest of the question.
    pub question: Digest,
    /// The answer.
    pub answer: QuestionAnswer,
}

/// A durable step that has ended: its name and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DurableStep {
    /// The name that the tool gave the step.
    pub name: String,
    /// The result.
    pub value: Value,
}

/// Arguments of a call, and their author.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArgumentRevision {
    /// The text: JSON once a check accepts it, and empty if the model wrote too much.
    pub text: Arc<str>,
    /// The digest of the text.
    pub digest: Digest,
    /// The person that wrote them in place of the model; `None` if another author did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
    /// The kind of author.
    #[serde(default, skip_serializing_if = "is_default")]
    pub author: Author,
}

/// The author of a call's arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Author {
    /// The model.
    #[default]
    Model,
    /// A person that decided an approval.
    Person,
    /// The tool's validators.
    Validators,
    /// The application, which refined arguments that the tool had accepted.
    Refinement,
    /// The application, which repaired a call. A repair by the model has the author [`Author::Model`].
    Repair,
    /// The reading of values that the model sent in another form ([`ToolOptions::lenient`](crate::tool::ToolOptions::lenient)).
    Reading,
}

impl Author {
    pub(super) fn validators() -> Self {
        Self::Validators
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    pub(super) fn is_validators(&self) -> bool {
        *self == Self::Validators
    }
}

impl ArgumentRevision {
    pub(super) fn new(text: Arc<str>, author: Author) -> Self {
        Self { digest: Digest::of(text.as_bytes()), text, by: None, author }
    }

    pub(super) fn of_person(text: Arc<str>, by: Principal) -> Self {
        Self { by: Some(by), ..Self::new(text, Author::Person) }
    }
}

/// Returns content for the model, followed by the readings of a call's arguments.
pub fn with_readings(mut content: Vec<Part>, readings: &[String]) -> Vec<Part> {
    if !readings.is_empty() {
        let lines: Vec<String> = readings.iter().map(|reading| format!("note: {reading}")).collect();
        content.push(Part::text(lines.join("\n")));
    }
    content
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallResult {
    /// The tool returned an output.
    Succeeded {
        /// The output.
        output: Output,
    },
    /// The tool failed.
    Failed {
        /// The text for the model.
        error: String,
        /// The structured feedback for the model, if the tool reported problems with the arguments. It replaces the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<Box<Rejection>>,
    },
    /// The arguments were wrong.
    Rejected {
        /// The problems.
        feedback: Rejection,
    },
    /// A policy does not allow the call.
    PolicyDenied {
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person denied the call.
    Denied {
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The principal that denied it.
        by: Principal,
    },
    /// A person gave an output in place of the tool.
    Responded {
        /// The output.
        output: Output,
        /// The principal that gave the output.
        by: Principal,
    },
    /// The interrupt or the grant expired before the call started.
    Expired,
    /// The call was superseded.
    Superseded {
        /// The reason.
        by: SupersededBy,
    },
    /// The call was cancelled, for example with its run, or for a new prompt.
    Cancelled,
    /// The tool took too long.
    TimedOut {
        /// The allowed time, in milliseconds.
        limit: u64,
    },
    /// The call was aborted, for example by the end of the model's turn or of the process that ran it.
    Aborted {
        /// The cause.
        by: AbortCause,
    },
    /// No tool on offer has this name.
    NotAvailable {
        /// The offered name that is nearest to the called name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<String>,
    },
    /// A limit was reached.
    LimitReached {
        /// The text that names the limit. The model receives it.
        limit: String,
    },
}

/// The reason why a call was superseded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SupersededBy {
    /// A new prompt.
    Prompt,
    /// Another definition of the tool.
    ToolChanged,
    /// The arguments differ from those that were approved.
    ArgumentsChanged,
    /// A person denied another call of the turn, and the run stops after a denial.
    Denial,
}

/// The reason why a call was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AbortCause {
    /// The model's answer was cut at its size limit.
    Length,
    /// A content filter cut the model's answer.
    ContentFilter,
    /// The model's answer was not finished.
    UnfinishedTurn,
    /// The process that ran the call died, and the outcome is unknown.
    LostProcess,
    /// The tool changed while the started call waited.
    ToolChanged,
    /// A new prompt came while the started call waited.
    Prompt,
    /// The tool's question was not answered in time.
    NoAnswer,
    /// A person denied another call of the turn while the started call waited.
    Denial,
    /// A policy, the tool or a limit refused the call before it could continue, or its grant had expired.
    NotAllowed,
}

impl CallResult {
    /// Returns the failure with the text and the feedback that the model receives for `error` of a tool with this effect.
    pub(super) fn failed(error: &CallError, effect: Effect) -> Self {
        Self::Failed { error: error.text_of(effect), feedback: error.rejection().cloned().map(Box::new) }
    }

    /// Returns the failure of a call that panicked before its function began. Unless it `never_ran`, the text claims nothing about
    /// an earlier start.
    pub(super) fn failed_before_start(never_ran: bool) -> Self {
        let did_not_run = if never_ran { "; it did not run" } else { "" };
        Self::Failed { error: format!("the call failed before the tool began{did_not_run}"), feedback: None }
    }

    /// Returns whether the call succeeded, or a person gave its output.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Succeeded { .. } | Self::Responded { .. })
    }

    /// Returns the problems of the arguments, if the call ended because of them.
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected { feedback } => Some(feedback),
            Self::Failed { feedback, .. } => feedback.as_deref(),
            _ => None,
        }
    }

    /// Returns the kind of result as a word: its name in the serde form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Succeeded { .. } => "succeeded",
            Self::Failed { .. } => "failed",
            Self::Rejected { .. } => "rejected",
            Self::PolicyDenied { .. } => "policy_denied",
            Self::Denied { .. } => "denied",
            Self::Responded { .. } => "responded",
            Self::Expired => "expired",
            Self::Superseded { .. } => "superseded",
            Self::Cancelled => "cancelled",
            Self::TimedOut { .. } => "timed_out",
            Self::Aborted { .. } => "aborted",
            Self::NotAvailable { .. } => "not_available",
            Self::LimitReached { .. } => "limit_reached",
        }
    }

    /// Returns the output, if there is one.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Self::Succeeded { output } | Self::Responded { output, .. } => Some(output),
            _ => None,
        }
    }

    /// Returns the content for the model about a call of `name`. No text claims more than `extent` ([`Call::extent`]).
    pub fn for_model(&self, name: &str, extent: Extent) -> Vec<Part> {
        match self {
            Self::Succeeded { output } => output.for_model(),
            Self::Responded { output, .. } => {
                let note = Part::text(match extent {
                    Extent::DidNotRun => "A person gave this output; the tool did not run:",
                    Extent::OnlyRead => "A person gave this output; the tool was started:",
                    Extent::MayHaveEffects => {
                        "A person gave this output; the tool was started, and may have had effects:"
                    }
                });
                [note].into_iter().chain(output.for_model()).collect()
            }
            Self::Rejected { feedback } => vec![rejection_part(feedback)],
            Self::Failed { feedback: Some(feedback), .. } => vec![rejection_part(feedback)],
            Self::NotAvailable { suggestion } => vec![Part::text(not_available(name, suggestion.as_deref()))],
            other => vec![Part::text(quote_rejection(other.sentence(extent)))],
        }
    }

    /// Returns the result of a call of `name` as one text for people. It claims no more than `extent` ([`Call::extent`]).
    pub fn for_people(&self, name: &str, extent: Extent) -> String {
        match self {
            Self::Rejected { feedback } => feedback.to_string(),
            Self::Failed { error, .. } => error.clone(),
            other => {
                let parts = other.for_model(name, extent);
                parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn sentence(&self, extent: Extent) -> String {
        let effects = extent.clause();
        match self {
            Self::Failed { error, .. } => error.clone(),
            Self::PolicyDenied { reason } => {
                format!("a policy does not allow the call{effects}{}", because(reason.as_deref()))
            }
            Self::Denied { reason, .. } if extent == Extent::DidNotRun => {
                format!("the call was denied, and did not run{}", because(reason.as_deref()))
            }
            Self::Denied { reason, .. } => format!("the call was denied{effects}{}", because(reason.as_deref())),
            Self::Expired => format!("nobody answered in time{effects}"),
            Self::Superseded { by } => {
                let what = match by {
                    SupersededBy::Prompt => "a new message of the user came first",
                    SupersededBy::ToolChanged => "the tool was changed while the call waited",
                    SupersededBy::ArgumentsChanged => "the arguments are not those that were approved",
                    SupersededBy::Denial => "another call of the turn was denied",
                };
                format!("{what}{effects}")
            }
            Self::Cancelled => format!("the call was cancelled{effects}"),
            Self::TimedOut { limit } => {
                let seconds = std::time::Duration::from_millis(*limit).as_secs_f64();
                format!("the tool did not answer within {seconds} s{effects}")
            }
            Self::Aborted { by } => {
                let what = match by {
                    AbortCause::Length => "the answer was cut at its size limit",
                    AbortCause::ContentFilter => "a content filter cut the answer",
                    AbortCause::UnfinishedTurn => "the answer was not finished",
                    AbortCause::LostProcess => "the program that ran the call was stopped, and its outcome is unknown",
                    AbortCause::ToolChanged => "the tool was changed while the call waited",
                    AbortCause::Prompt => "a new message of the user came while the call waited",
                    AbortCause::NoAnswer => "nobody answered the tool's question in time",
                    AbortCause::Denial => "another call of the turn was denied",
                    AbortCause::NotAllowed => "the call was not allowed to go on",
                };
                format!("{what}{effects}")
            }
            Self::LimitReached { limit } => format!("{limit}{effects}"),
            Self::Succeeded { .. } | Self::Responded { .. } | Self::Rejected { .. } | Self::NotAvailable { .. } => {
                String::new()
            }
        }
    }
}
