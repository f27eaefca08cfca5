//! A run with the events that are about to be logged.

use std::sync::Arc;

use crate::run::call::Call;
#[cfg(test)]
use crate::run::search::mutants::{Mutant, on};
use crate::run::state::{Activity, STAGES, TurnEnd};
use crate::run::{
    CallResult, Effect, Grant, GrantedBy, InterruptedBy, LogEvent, Obligation, ObligationKind, Principal, Run, Shown,
    Stage, SupersededBy, Time,
};

/// A run with the events that are about to be logged, and what follows from them.
pub(super) struct Draft<'a> {
    pub(super) run: &'a Run,
    pub(super) log: Vec<LogEvent>,
    pub(super) effects: Vec<Effect>,
    /// The call whose stage was changed last, apart: most events change no other.
    latest: Option<(usize, Stage)>,
    /// Calls whose stages were changed before it.
    changed: Vec<(usize, Stage)>,
    /// How many calls of the turn will be at each stage.
    stages: [u32; STAGES],
    /// How the turn at hand ended, if it has.
    pub(super) turn_end: Option<TurnEnd>,
    /// A call whose inspection is part of the event, so that it may start at once.
    pub(super) fresh: Option<usize>,
    /// A call that is looked at for the first time in this event, and runs alone: its tool is not in the run yet.
    pub(super) alone: Option<usize>,
    /// What a call touches that was accepted, or edited, in this event.
    pub(super) touched: Option<(usize, Option<Arc<crate::tool::Touches>>)>,
    /// How many calls this event adds to the turn, and how many of those have ended.
    pub(super) new_calls: usize,
    pub(super) new_done: usize,
    /// Their ids.
    pub(super) minted: crate::run::Minted,
    /// Whether a call of this turn was denied by somebody in this event.
    pub(super) denied: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(run: &'a Run, (log, effects): (Vec<LogEvent>, Vec<Effect>)) -> Self {
        let turn_end = match &run.activity {
            Activity::Acting(end) => Some(end.clone()),
            _ => None,
        };
        Self {
            run,
            log,
            effects,
            latest: None,
            changed: Vec::new(),
            stages: run.stages,
            turn_end,
            fresh: None,
            alone: None,
            touched: None,
            new_calls: 0,
            new_done: 0,
            minted: crate::run::Minted::default(),
            denied: false,
        }
    }

    /// The stage of a call as it will be.
    pub(super) fn stage(&self, at: usize) -> Stage {
        let changed = self.latest.iter().chain(self.changed.iter().rev()).find(|(call, _)| *call == at);
        changed.map_or_else(|| self.run.calls[at].stage(), |(_, stage)| *stage)
    }

    /// The first call that can hold back others, or may start.
    pub(super) fn first_unpassed(&self) -> usize {
        let changed = self.changed.iter().chain(&self.latest).map(|(call, _)| *call);
        changed.fold(self.run.passed as usize, usize::min)
    }

    /// How many calls of the turn will be at `stage`.
    pub(super) fn count(&self, stage: Stage) -> u32 {
        self.stages[stage as usize]
    }

    pub(super) fn enter(&mut self, at: usize, stage: Stage) {
        self.stages[self.stage(at) as usize] -= 1;
        self.stages[stage as usize] += 1;
        let before = self.latest.replace((at, stage));
        self.changed.extend(before.filter(|(call, _)| *call != at));
    }

    pub(super) fn call(&self, at: usize) -> &'a Call {
        &self.run.calls[at]
    }

    /// The place of a call of the turn at hand.
    pub(super) fn find(&self, id: &crate::run::CallId) -> Option<usize> {
        self.run.place(id).filter(|at| self.run.current_range().contains(at))
    }

    /// The place of a call that was started for the `attempt`th time and has not ended.
    pub(super) fn running(&self, id: &crate::run::CallId, attempt: u32) -> Option<usize> {
        self.find(id).filter(|at| self.stage(*at) == Stage::Running && self.call(*at).attempts == attempt)
    }

    pub(super) fn end(&mut self, at: usize, result: CallResult, time: Time) {
        let call = self.call(at).id.clone();
        self.log.push(LogEvent::Ended { call, result: Arc::new(result), at: time });
        self.enter(at, Stage::Done);
    }

    /// Ends a call that does not run: with `result`, or, if it was started before, with `or`.
    pub(super) fn end_unstarted(&mut self, at: usize, result: CallResult, or: InterruptedBy, time: Time) {
        let was_started = self.call(at).attempts > 0;
        #[cfg(test)]
        let was_started = was_started && !on(Mutant::LieOnSupersede);
        if was_started {
            self.effects.push(Effect::Abort(self.call(at).id.clone()));
        }
        self.end(at, if was_started { CallResult::Interrupted { by: or } } else { result }, time);
    }

    /// Ends every call that has not ended and does not run.
    pub(super) fn end_waiting(&mut self, by: SupersededBy, or: InterruptedBy, time: Time) {
        for at in self.run.current_range() {
            #[cfg(test)]
            if on(Mutant::GrantSurvivesSupersede) && self.stage(at) == Stage::Ready
                || on(Mutant::PromptLeavesUnanswered) && self.stage(at) == Stage::Open
            {
                continue;
            }
            if matches!(self.stage(at), Stage::Proposed | Stage::Open | Stage::Ready | Stage::Unknown) {
                self.end_unstarted(at, CallResult::Superseded { by }, or, time);
            }
        }
    }

    pub(super) fn open(
        &mut self,
        at: usize,
        kind: ObligationKind,
        shown: Shown,
        deciders: Vec<Principal>,
        expiry: Option<u64>,
        time: Time,
    ) {
        let id = self.call(at).next_obligation();
        let expires = expiry.map(|millis| time.plus(millis));
        let obligation = Obligation { id: id.clone(), kind, shown, since: time, expires, deciders };
        let call = id.call.clone();
        self.log.push(LogEvent::Opened { call, obligation: Box::new(obligation) });
        self.enter(at, Stage::Open);
        self.effects.push(Effect::Announce(id));
        self.effects.extend(expires.map(Effect::Wake));
    }

    /// Grants a call with the tool and the arguments that it has now.
    pub(super) fn grant(&mut self, at: usize, by: GrantedBy, shown: Option<crate::digest::Digest>, time: Time) {
        let call = self.call(at);
        if let Some(tool) = &call.tool {
            self.grant_for(at, tool.fingerprint, call.arguments.digest, by, shown, time);
        }
    }

    pub(super) fn grant_for(
        &mut self,
        at: usize,
        tool: crate::tool::Fingerprint,
        arguments: crate::digest::Digest,
        by: GrantedBy,
        shown: Option<crate::digest::Digest>,
        time: Time,
    ) {
        let expires = match by {
            GrantedBy::Person(_) => self.run.options.grant_expiry.map(|millis| time.plus(millis)),
            _ => None,
        };
        let call = self.call(at).id.clone();
        self.log.push(LogEvent::Granted { call, tool, arguments, shown, by, expires });
        self.effects.extend(expires.map(Effect::Wake));
        self.enter(at, Stage::Ready);
    }

    /// The grant of a call that was ready before this event.
    pub(super) fn grant_of(&self, at: usize) -> Option<&'a Grant> {
        self.run.grant_of(at)
    }
}
