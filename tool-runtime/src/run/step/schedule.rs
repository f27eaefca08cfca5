//! What may start now, and what comes when every call has ended.

use super::Draft;
use crate::run::state::TurnEnd;
use crate::run::{CallResult, Effect, InterruptedBy, LogEvent, OnDeny, Phase, Stage, StopReason, SupersededBy, Time};

impl Draft<'_> {
    /// Starts what may start. When every call has ended, the model is asked again, or the run comes to its end.
    pub(super) fn schedule(&mut self, time: Time) {
        if matches!(self.run.phase(), Phase::Idle | Phase::Finished | Phase::Stopped(_)) {
            return;
        }
        self.start_calls(time);
        let calls = self.run.current().len() + self.new_calls;
        let done = self.count(Stage::Done) as usize + self.new_done;
        if let Some(end) = self.turn_end.take_if(|_| done == calls) {
            self.end_turn(end, calls, time);
        }
    }

    fn start_calls(&mut self, time: Time) {
        if self.count(Stage::Ready) == 0 {
            return;
        }
        let options = &self.run.options;
        // Without room for one, nothing would ever end.
        let mut room = options.limits.in_flight.max(1).saturating_sub(self.count(Stage::Running));
        let from = self.first_unpassed();
        let mut unfinished = false;
        for at in from..self.run.calls.len() {
            let stage = self.stage(at);
            let alone = self.alone == Some(at) || self.run.runs_alone(self.call(at));
            match stage {
                Stage::Done => continue,
                // What comes behind may have to wait for it; that is not known yet.
                Stage::Proposed => return,
                Stage::Ready if alone && (unfinished || self.is_unfinished_before(from)) => return,
                Stage::Ready if self.may_start(at) => {
                    if room == 0 {
                        return;
                    }
                    room -= 1;
                    self.start(at, time);
                }
                _ => {}
            }
            if alone {
                return;
            }
            unfinished = true;
        }
    }

    fn is_unfinished_before(&self, from: usize) -> bool {
        self.run.calls[self.run.current_range().start..from].iter().any(|call| call.stage() != Stage::Done)
    }

    /// Whether a ready call may start as far as the model's turn is concerned.
    fn may_start(&self, at: usize) -> bool {
        self.turn_end.is_some() || self.call(at).attempts > 0 || self.fresh == Some(at)
    }

    /// Starts a ready call that was looked at in this event; another one is looked at again first, because the policies,
    /// the tool and the time may have changed since.
    fn start(&mut self, at: usize, time: Time) {
        let call = self.call(at);
        if self.fresh != Some(at) {
            self.effects.push(Effect::Inspect(call.id.clone()));
            return;
        }
        self.fresh = None;
        self.log.push(LogEvent::Started { call: call.id.clone(), at: time });
        self.effects.push(Effect::Execute { call: call.id.clone(), attempt: call.attempts.saturating_add(1) });
        self.enter(at, Stage::Running);
    }

    fn end_turn(&mut self, end: TurnEnd, calls: usize, time: Time) {
        let options = &self.run.options;
        let stopped = match end {
            TurnEnd::Cut(finish) => Some(StopReason::Cut(finish)),
            TurnEnd::Failed(error) => Some(StopReason::ModelFailed(error)),
            TurnEnd::Safe if self.was_denied() && options.on_deny == OnDeny::StopTurn => Some(StopReason::Denied),
            TurnEnd::Safe if calls == 0 || self.is_answered() => None,
            TurnEnd::Safe | TurnEnd::Again => {
                if self.run.bytes > options.limits.bytes {
                    let limit = format!("the conversation has more than {} bytes", options.limits.bytes);
                    Some(StopReason::OverBudget(limit))
                } else if self.run.steps >= options.limits.steps {
                    Some(StopReason::StepLimit)
                } else {
                    return self.start_turn(time);
                }
            }
        };
        self.log.push(match stopped {
            None => LogEvent::Finished { at: time },
            Some(reason) => LogEvent::Stopped { reason, at: time },
        });
        if let Some(prompt) = self.run.queue.first() {
            self.log.push(LogEvent::Prompted { prompt: prompt.clone(), queued: true });
            self.start_turn(time);
        }
    }

    /// Ends what has not started, when somebody denied a call and the run is to stop then.
    pub(super) fn stop_turn(&mut self, time: Time) {
        self.denied = true;
        if self.run.options.on_deny == OnDeny::StopTurn {
            self.end_waiting(SupersededBy::Denial, InterruptedBy::Denial, time);
        }
    }

    fn was_denied(&self) -> bool {
        let denied = |result: Option<&CallResult>| matches!(result, Some(CallResult::Denied { .. }));
        self.denied || self.run.current().iter().any(|call| denied(call.result()))
    }

    /// Whether the tool that the prompt waits for has given its answer.
    fn is_answered(&self) -> bool {
        let Some(until) = &self.run.until else { return false };
        let before = self.run.current().iter().filter_map(|call| Some((&call.id, call.result()?)));
        let now = self.log.iter().filter_map(|event| match event {
            LogEvent::Ended { call, result, .. } => Some((call, &**result)),
            _ => None,
        });
        before
            .chain(now)
            .any(|(id, result)| result.is_success() && self.run.call(id).is_some_and(|call| call.name == *until))
    }
}
