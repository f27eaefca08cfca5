//! A run with the events that are about to be logged.

use std::sync::Arc;

use crate::run::call::Call;
use crate::run::state::{Activity, STAGES, TurnEnd};
use crate::run::{
    Action, CallResult, Grant, GrantedBy, Interrupt, InterruptKind, InterruptedBy, LogEvent, Principal, Run, Shown,
    Stage, SupersededBy, Time,
};

/// A run with the events that are about to be logged, and what follows from them.
pub struct Draft<'a> {
    pub run: &'a Run,
    pub log: Vec<LogEvent>,
    pub effects: Vec<Action>,
    /// The call whose stage was changed last, apart: most events change no other.
    latest: Option<(usize, Stage)>,
    /// Calls whose stages were changed before it.
    changed: Vec<(usize, Stage)>,
    /// How many calls of the turn will be at each stage.
    stages: [u32; STAGES],
    /// How the turn at hand ended, if it has.
    pub turn_end: Option<TurnEnd>,
    /// A call whose inspection is part of the event, so that it may start at once.
    pub fresh: Option<usize>,
    /// A call that is looked at for the first time in this event, and runs alone: its tool is not in the run yet.
    pub alone: Option<usize>,
    /// The resources of a call that was accepted, or edited, in this event.
    pub touched: Option<(usize, Option<Arc<crate::tool::Resources>>)>,
    /// How many calls this event adds to the turn, and how many of those have ended.
    pub new_calls: usize,
    pub new_done: usize,
    /// Their ids.
    pub minted: crate::run::IssuedIds,
    /// Set if a call of this turn was denied by somebody in this event.
    pub denied: bool,
}

impl<'a> Draft<'a> {
    pub fn new(run: &'a Run, (log, effects): (Vec<LogEvent>, Vec<Action>)) -> Self {
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
            minted: crate::run::IssuedIds::default(),
            denied: false,
        }
    }

    /// The stage of a call as it will be.
    pub fn stage(&self, at: usize) -> Stage {
        let changed = self.latest.iter().chain(self.changed.iter().rev()).find(|(call, _)| *call == at);
        changed.map_or_else(|| self.run.calls[at].stage(), |(_, stage)| *stage)
    }

    /// The first call that can hold back others, or may start.
    pub fn first_unpassed(&self) -> usize {
        let changed = self.changed.iter().chain(&self.latest).map(|(call, _)| *call);
        changed.fold(self.run.passed as usize, usize::min)
    }

    /// Returns how many calls of the turn will be at `stage`.
    pub fn count(&self, stage: Stage) -> u32 {
        self.stages[stage as usize]
    }

    pub fn enter(&mut self, at: usize, stage: Stage) {
        self.stages[self.stage(at) as usize] -= 1;
        self.stages[stage as usize] += 1;
        let before = self.latest.replace((at, stage));
        self.changed.extend(before.filter(|(call, _)| *call != at));
    }

    pub fn call(&self, at: usize) -> &'a Call {
        &self.run.calls[at]
    }

    /// The place of a call of the turn at hand.
    pub fn find(&self, id: &crate::run::CallId) -> Option<usize> {
        self.run.place(id).filter(|at| self.run.current_range().contains(at))
    }

    /// The place of a call that was started for the `attempt`th time and has not ended.
    pub fn running(&self, id: &crate::run::CallId, attempt: u32) -> Option<usize> {
        self.find(id).filter(|at| self.stage(*at) == Stage::Running && self.call(*at).attempts == attempt)
    }

    pub fn end(&mut self, at: usize, result: CallResult, time: Time) {
        let call = self.call(at).id.clone();
        self.log.push(LogEvent::Ended { call, result: Arc::new(result), at: time });
        self.enter(at, Stage::Done);
    }

    /// Ends the calls of the turn that are at `stages` with `result`, and aborts those that were started.
    pub fn end_at(&mut self, stages: &[Stage], result: &CallResult, time: Time) {
        for at in self.run.current_range() {
            if stages.contains(&self.stage(at)) {
                if self.call(at).attempts > 0 {
                    self.effects.push(Action::Abort(self.call(at).id.clone()));
                }
                self.end(at, result.clone(), time);
            }
        }
    }

    /// Ends a call that does not run: with `result`, or, if it was started before, with `or`.
    pub fn end_unstarted(&mut self, at: usize, result: CallResult, or: InterruptedBy, time: Time) {
        let was_started = self.call(at).attempts > 0;
        if was_started {
            self.effects.push(Action::Abort(self.call(at).id.clone()));
        }
        self.end(at, if was_started { CallResult::Interrupted { by: or } } else { result }, time);
    }

    /// Ends every call that has not ended and does not run.
    pub fn end_waiting(&mut self, by: SupersededBy, or: InterruptedBy, time: Time) {
        for at in self.run.current_range() {
            if matches!(self.stage(at), Stage::Proposed | Stage::Open | Stage::Ready | Stage::Unknown) {
                self.end_unstarted(at, CallResult::Superseded { by }, or, time);
            }
        }
    }

    pub fn open(
        &mut self,
        at: usize,
        kind: InterruptKind,
        shown: Shown,
        deciders: Vec<Principal>,
        expiry: Option<u64>,
        time: Time,
    ) {
        let id = self.call(at).next_obligation();
        let expires = expiry.map(|millis| time.plus(millis));
        let interrupt = Interrupt { id: id.clone(), kind, shown, since: time, expires, deciders };
        let call = id.call.clone();
        self.log.push(LogEvent::Opened { call, interrupt: Box::new(interrupt) });
        self.enter(at, Stage::Open);
        self.effects.push(Action::Announce(id));
        self.effects.extend(expires.map(Action::Wake));
    }

    /// Grants a call with the tool and the arguments that it has now.
    pub fn grant(&mut self, at: usize, by: GrantedBy, shown: Option<crate::digest::Digest>, time: Time) {
        let call = self.call(at);
        if let Some(tool) = &call.tool {
            self.grant_for(at, tool.fingerprint, call.arguments.digest, by, shown, time);
        }
    }

    pub fn grant_for(
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
        self.effects.extend(expires.map(Action::Wake));
        self.enter(at, Stage::Ready);
    }

    /// The grant of a call that was ready before this event.
    pub fn grant_of(&self, at: usize) -> Option<&'a Grant> {
        self.run.grant_of(at)
    }
}
