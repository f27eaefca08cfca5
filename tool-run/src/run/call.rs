//! One call of a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::past::{Answered, ArgumentRevision, Decided, Past, StepResult};
use super::{CallId, CallResult, Grant, Interrupt, InterruptId, InterruptKind, Time};
use crate::tool::{Effect, Fingerprint, Resources, ToolSpec};

/// One call of a run: what the model asked for, what became of it, and why.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call {
    /// The call's id in this run.
    pub id: CallId,
    /// The id that the model's provider gave. A claim: nothing goes by it.
    pub provider_id: String,
    /// The turn that asked for it, from 1.
    pub turn: u32,
    /// Its place in that turn, from 0.
    pub index: u32,
    /// The name that the model called.
    pub name: String,
    /// The tool, once the arguments were accepted.
    pub tool: Option<Arc<ToolRef>>,
    /// How often the call was started.
    pub attempts: u32,
    /// How often a failed attempt was followed by another.
    pub retries: u32,
    /// The state.
    pub state: CallState,
    pub(super) arguments: ArgumentRevision,
    pub(super) touches: Option<Arc<Resources>>,
    pub(super) past: Option<Box<Past>>,
}

/// The tool of a call, as it was when the arguments were accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolRef {
    /// The name.
    pub name: String,
    /// Where the tool comes from, if not from this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The digest of its definition.
    pub fingerprint: Fingerprint,
    /// The version of its behaviour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The effect on the world.
    pub effect: Effect,
    /// Set if the same call twice has the effect of one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// Set if it is executed outside this program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Set if it runs alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sequential: bool,
    /// Set if it may start before the model's turn ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub eager: bool,
    /// Set if its output may hold text of strangers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Set if the tool keeps as steps whatever must not happen twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumable: bool,
    /// How often a failed call may be tried again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Earlier versions whose waiting calls this one takes over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub migrate_from: Vec<String>,
}

impl ToolRef {
    /// Returns the reference of a run to the tool `spec`.
    pub fn new(spec: &ToolSpec, fingerprint: Fingerprint) -> Self {
        let traits = &spec.traits;
        Self {
            name: spec.name.clone(),
            origin: traits.origin.clone(),
            fingerprint,
            version: traits.version.clone(),
            effect: traits.effect,
            idempotent: traits.idempotent,
            external: traits.external,
            sequential: traits.sequential,
            eager: traits.eager,
            untrusted: traits.untrusted || traits.open_world,
            resumable: traits.resumable,
            retries: traits.retries,
            migrate_from: traits.migrate_from.clone(),
        }
    }

    /// Returns whether a second start of one call does no harm.
    pub fn is_repeatable(&self) -> bool {
        self.idempotent || self.effect == Effect::ReadOnly
    }

    /// Returns whether the run keeps when a step begins, because a second one would do harm.
    pub fn keeps_begun_steps(&self) -> bool {
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
    /// The model asked for it; nobody has looked at the arguments yet.
    Proposed,
    /// Waits for somebody outside.
    Open(Box<Interrupt>),
    /// May start.
    Ready(Box<Grant>),
    /// Started.
    Running,
    /// Started, without a result, by a process that is gone.
    Unknown,
    /// Ended. Final.
    Done(Arc<CallResult>),
}

/// The state of a call without what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// See [`CallState::Proposed`].
    Proposed,
    /// See [`CallState::Open`].
    Open,
    /// See [`CallState::Ready`].
    Ready,
    /// See [`CallState::Running`].
    Running,
    /// See [`CallState::Unknown`].
    Unknown,
    /// See [`CallState::Done`].
    Done,
}

impl Call {
    /// The arguments as they are now.
    pub fn arguments(&self) -> &ArgumentRevision {
        &self.arguments
    }

    /// Arguments that were replaced, oldest first.
    pub fn revisions(&self) -> &[ArgumentRevision] {
        self.past.as_ref().map_or(&[], |past| &past.revisions)
    }

    /// Returns whether the arguments were accepted as they are now, and are not what the model wrote.
    pub fn is_revised(&self) -> bool {
        !matches!(self.state, CallState::Proposed) && !self.revisions().is_empty()
    }

    /// Questions of the tool that were answered, in order.
    pub fn answers(&self) -> &[Answered] {
        self.past.as_ref().map_or(&[], |past| &past.answers)
    }

    /// Steps of the tool that were taken, in order.
    pub fn steps(&self) -> &[StepResult] {
        self.past.as_ref().map_or(&[], |past| &past.steps)
    }

    /// The names of steps of the tool that were begun and have no result: they failed, go on, or nobody knows.
    pub fn begun_steps(&self) -> &[String] {
        self.past.as_ref().map_or(&[], |past| &past.begun)
    }

    /// Returns whether the call may start again by itself after its process is gone.
    ///
    /// That is so where a second start does no harm, and where a `resumable` tool was between two steps.
    pub fn may_start_again(&self) -> bool {
        let may = |tool: &ToolRef| tool.is_repeatable() || tool.resumable && self.begun_steps().is_empty();
        self.tool.as_deref().is_some_and(may)
    }

    /// Returns the open interrupt of the call.
    pub fn interrupt(&self) -> Option<&Interrupt> {
        match &self.state {
            CallState::Open(interrupt) => Some(interrupt),
            _ => None,
        }
    }

    /// Returns the time at which its interrupt, or its permission to start, expires.
    pub(super) fn expires(&self) -> Option<Time> {
        match &self.state {
            CallState::Open(open) => open.expires,
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

    /// The state without what it holds.
    pub fn stage(&self) -> Stage {
        match self.state {
            CallState::Proposed => Stage::Proposed,
            CallState::Open(_) => Stage::Open,
            CallState::Ready(_) => Stage::Ready,
            CallState::Running => Stage::Running,
            CallState::Unknown => Stage::Unknown,
            CallState::Done(_) => Stage::Done,
        }
    }

    /// Returns whether the call was started here, or announced to somebody outside who may have executed it. Who denies an
    /// announced call did not.
    pub fn may_have_run(&self) -> bool {
        let is_denied = || matches!(self.result(), Some(CallResult::Denied { .. }));
        self.attempts > 0 || self.past.as_ref().is_some_and(|past| past.handed_out) && !is_denied()
    }

    /// Returns whether somebody has decided about the call.
    pub fn is_decided_about(&self) -> bool {
        self.past.as_ref().is_some_and(|past| !past.decided.is_empty())
    }

    /// The ids of everything that the call waits or waited for.
    pub fn interrupt_ids(&self) -> impl Iterator<Item = InterruptId> {
        (1..self.next_obligation().number).map(|number| InterruptId { call: self.id.clone(), number })
    }

    pub(super) fn next_obligation(&self) -> InterruptId {
        let number = self.past.as_ref().map_or(0, |past| past.interrupts).saturating_add(1);
        InterruptId { call: self.id.clone(), number }
    }

    pub(super) fn decided(&self, interrupt: u32) -> Option<&Decided> {
        self.past.as_ref()?.decided.iter().find(|decided| decided.interrupt == interrupt)
    }

    /// Returns the resources that the call reads and writes with these arguments, where its tool names them.
    pub fn touches(&self) -> Option<&Resources> {
        self.touches.as_deref()
    }

    /// Returns whether it waits in the middle of its work.
    pub(super) fn is_asking(&self) -> bool {
        let kind = self.interrupt().map(|open| &open.kind);
        matches!(kind, Some(InterruptKind::Answer { .. } | InterruptKind::Inner { .. }))
    }

    pub(super) fn past(&mut self) -> &mut Past {
        self.past.get_or_insert_default()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
