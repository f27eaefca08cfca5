//! One call of a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::past::{Answered, ArgsRev, Decided, Past, StepRecord};
use super::{CallId, CallResult, Grant, Obligation, ObligationId, Time};
use crate::tool::{Effect, Fingerprint, ToolSpec, Touches};

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
    /// What became of it so far.
    pub state: CallState,
    pub(super) arguments: ArgsRev,
    pub(super) touches: Option<Arc<Touches>>,
    pub(super) past: Option<Box<Past>>,
}

/// What a call's tool was when its arguments were accepted.
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
    /// What it does to the world.
    pub effect: Effect,
    /// Whether the same call twice has the effect of one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// Whether it is executed outside this program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Whether it runs alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sequential: bool,
    /// Whether it may start before the model's turn ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub eager: bool,
    /// Whether its output may hold text of strangers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Whether the tool keeps as steps whatever must not happen twice.
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
    /// What of `spec` a run goes by.
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

    /// Whether a second start of one call does no harm.
    pub fn is_repeatable(&self) -> bool {
        self.idempotent || self.effect == Effect::ReadOnly
    }

    /// Returns whether the run keeps when a step begins, because a second one would do harm.
    #[cfg(feature = "agent")]
    pub(crate) fn keeps_begun_steps(&self) -> bool {
        self.resumable && !self.is_repeatable()
    }

    /// Whether a call may start before the model's turn ends.
    pub fn may_be_early(&self) -> bool {
        self.eager && self.is_repeatable() && !self.external && !self.sequential
    }
}

/// What became of a call so far.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallState {
    /// The model asked for it; nobody has looked at the arguments yet.
    Proposed,
    /// Waits for somebody outside.
    Open(Box<Obligation>),
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
    pub fn arguments(&self) -> &ArgsRev {
        &self.arguments
    }

    /// Arguments that were replaced, oldest first.
    pub fn revisions(&self) -> &[ArgsRev] {
        self.past.as_ref().map_or(&[], |past| &past.revisions)
    }

    /// Returns whether the arguments were accepted as they are now, and are not what the model wrote.
    pub(crate) fn is_revised(&self) -> bool {
        !matches!(self.state, CallState::Proposed) && !self.revisions().is_empty()
    }

    /// Questions of the tool that were answered, in order.
    pub fn answers(&self) -> &[Answered] {
        self.past.as_ref().map_or(&[], |past| &past.answers)
    }

    /// Steps of the tool that were taken, in order.
    pub fn steps(&self) -> &[StepRecord] {
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

    /// What the call waits for.
    pub fn obligation(&self) -> Option<&Obligation> {
        match &self.state {
            CallState::Open(obligation) => Some(obligation),
            _ => None,
        }
    }

    /// When what it waits for, or its permission to start, is over.
    pub(super) fn expires(&self) -> Option<Time> {
        match &self.state {
            CallState::Open(open) => open.expires,
            CallState::Ready(grant) => grant.expires,
            _ => None,
        }
    }

    /// How the call ended.
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

    /// Whether the call was started here, or announced to somebody outside who may have executed it. Who denies an
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
    pub(crate) fn obligation_ids(&self) -> impl Iterator<Item = ObligationId> {
        (1..self.next_obligation().number).map(|number| ObligationId { call: self.id.clone(), number })
    }

    pub(super) fn next_obligation(&self) -> ObligationId {
        let number = self.past.as_ref().map_or(0, |past| past.obligations).saturating_add(1);
        ObligationId { call: self.id.clone(), number }
    }

    pub(super) fn decided(&self, obligation: u32) -> Option<&Decided> {
        self.past.as_ref()?.decided.iter().find(|decided| decided.obligation == obligation)
    }

    pub(super) fn past(&mut self) -> &mut Past {
        self.past.get_or_insert_default()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
