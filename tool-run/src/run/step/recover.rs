//! Taking over a run whose process is gone, or that was just loaded.

use super::Draft;
use crate::message::Usage;
use crate::run::state::{Activity, TurnEnd};
use crate::run::{
    Action, CallState, GrantedBy, InterruptId, InterruptKind, InterruptedBy, LogEvent, Run, Shown, Stage, Time,
};

impl Draft<'_> {
    /// Declares what ran as lost. What can be started again without harm is; about the rest a person is asked.
    pub fn recover(&mut self, time: Time) {
        let gave_up = self.run.activity == Activity::Generating && !self.run.current().is_empty();
        if gave_up {
            let error = "the process that asked the model is gone".to_owned();
            self.log.push(LogEvent::TurnFailed { error, again: true, usage: Usage::default(), model: None, at: time });
            self.turn_end = Some(TurnEnd::Again);
            self.interrupt(InterruptedBy::UnfinishedTurn, time);
        }
        for at in self.run.current_range() {
            let call = self.call(at);
            let is_lost = match self.stage(at) {
                Stage::Running => {
                    self.log.push(LogEvent::Lost { call: call.id.clone() });
                    self.enter(at, Stage::Unknown);
                    true
                }
                stage => stage == Stage::Unknown,
            };
            if !is_lost {
                continue;
            }
            if call.may_start_again() {
                self.grant(at, GrantedBy::Rerun, None, time);
            } else {
                self.open(at, InterruptKind::Reconcile, Shown::of_running(call), Vec::new(), None, time);
            }
        }
        self.schedule(time);
        for effect in pending(self.run) {
            let is_stale = match &effect {
                Action::CallModel => gave_up,
                Action::Inspect(id) | Action::Announce(InterruptId { call: id, .. }) => {
                    self.find(id).is_some_and(|at| self.stage(at) == Stage::Done)
                }
                _ => false,
            };
            if !is_stale && !self.effects.contains(&effect) {
                self.effects.push(effect);
            }
        }
    }
}

/// See [`pending`](super::pending).
pub fn pending(run: &Run) -> Vec<Action> {
    let mut effects = Vec::new();
    if matches!(run.activity, Activity::Generating) {
        effects.push(Action::CallModel);
    }
    for call in run.current() {
        match &call.state {
            CallState::Proposed => effects.push(Action::Inspect(call.id.clone())),
            CallState::Ready(grant) => {
                effects.push(Action::Inspect(call.id.clone()));
                effects.extend(grant.expires.map(Action::Wake));
            }
            CallState::Open(open) => {
                // The tool may be another by now.
                effects.push(Action::Inspect(call.id.clone()));
                effects.push(Action::Announce(open.id.clone()));
                effects.extend(open.expires.map(Action::Wake));
            }
            CallState::Running | CallState::Unknown | CallState::Done(_) => {}
        }
    }
    effects
}
