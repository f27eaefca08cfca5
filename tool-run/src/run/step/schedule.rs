//! The calls that may start now, and the end of a turn.

use super::Draft;
use crate::run::state::TurnEnd;
use crate::run::{Action, CallResult, InterruptedBy, LogEvent, OnDeny, Phase, Stage, StopReason, SupersededBy, Time};
use crate::tool::Resources;

impl Draft<'_> {
    /// Starts what may start. When every call has ended, the model is asked again, or the run comes to its end.
    pub fn schedule(&mut self, time: Time) {
        match self.run.phase() {
            Phase::Idle => return,
            // Somebody of another process said it when the run had just come to its end.
            Phase::Finished | Phase::Stopped(_) => return self.take_queued(time),
            _ => {}
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
                Stage::Ready if self.may_start(at) && !self.is_held(at) => {
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

    /// Returns whether a call has to wait for others that touch the same.
    pub fn is_held(&self, at: usize) -> bool {
        let Some(touches) = self.touches(at) else { return false };
        // Of a call that nobody has looked at, it is not known what it touches.
        self.run.is_held_by(at, Some(touches), |other| (self.stage(other), self.touches(other)))
            || self.call(at).attempts == 0
                && self.run.current_range().any(|other| other < at && self.stage(other) == Stage::Proposed)
    }

    fn touches(&self, at: usize) -> Option<&Resources> {
        match &self.touched {
            Some((call, touches)) if *call == at => touches.as_deref(),
            _ => self.run.calls[at].touches(),
        }
    }

    /// Returns whether a ready call may start as far as the model's turn is concerned.
    fn may_start(&self, at: usize) -> bool {
        self.turn_end.is_some() || self.call(at).attempts > 0 || self.fresh == Some(at)
    }

    /// Starts a ready call that was looked at in this event; another one is looked at again first, because the policies,
    /// the tool and the time may have changed since.
    fn start(&mut self, at: usize, time: Time) {
        let call = self.call(at);
        if self.fresh != Some(at) {
            self.effects.push(Action::Inspect(call.id.clone()));
            return;
        }
        self.fresh = None;
        self.log.push(LogEvent::Started { call: call.id.clone(), at: time });
        self.effects.push(Action::Execute { call: call.id.clone(), attempt: call.attempts.saturating_add(1) });
        self.enter(at, Stage::Running);
    }

    fn end_turn(&mut self, end: TurnEnd, calls: usize, time: Time) {
        let options = &self.run.options;
        let steered = || self.run.queue.iter().any(|prompt| prompt.steers);
        let stopped = match end {
            TurnEnd::Cut(finish) => Some(StopReason::Cut(finish)),
            TurnEnd::Failed(error) => Some(StopReason::ModelFailed(error)),
            TurnEnd::Safe if self.was_denied() && options.on_deny == OnDeny::StopTurn => Some(StopReason::Denied),
            TurnEnd::Safe if self.is_answered() || calls == 0 && !steered() => None,
            TurnEnd::Safe | TurnEnd::Again if self.run.stopping => Some(StopReason::Requested),
            TurnEnd::Safe | TurnEnd::Again => match self.exhausted(calls) {
                Some(reason) => Some(reason),
                None => {
                    self.join();
                    return self.start_turn(time);
                }
            },
        };
        let entry = match stopped {
            None => LogEvent::Finished { at: time },
            Some(reason) => LogEvent::Stopped { reason, at: time },
        };
        match entry {
            // Prompts that wait are dropped with it.
            LogEvent::Stopped { reason: StopReason::Requested, .. } => self.log.push(entry),
            entry => self.conclude(entry, time),
        }
    }

    /// Ends the run until somebody says something; who waits to do so is heard at once.
    pub fn conclude(&mut self, entry: LogEvent, time: Time) {
        self.log.push(entry);
        self.take_queued(time);
    }

    fn take_queued(&mut self, time: Time) {
        if let Some(prompt) = self.run.queue.first() {
            self.log.push(LogEvent::Prompted { prompt: prompt.clone(), queued: true });
            self.start_turn(time);
        }
    }

    /// Takes what somebody said to a run that goes on.
    fn join(&mut self) {
        let steering = self.run.queue.iter().filter(|prompt| prompt.steers);
        self.log.extend(steering.map(|prompt| LogEvent::Prompted { prompt: prompt.clone(), queued: true }));
    }

    /// Returns the reason why the model is not asked again.
    fn exhausted(&self, calls: usize) -> Option<StopReason> {
        let limits = &self.run.options.limits;
        if self.run.bytes > limits.bytes {
            return Some(StopReason::OverBudget(format!("the conversation has more than {} bytes", limits.bytes)));
        }
        if let Some(most) = limits.tokens.filter(|most| self.tokens() >= *most) {
            return Some(StopReason::OverBudget(format!("the model may use {most} tokens, and has used them")));
        }
        // A turn that failed and came to nothing is no step.
        let failed = |event: &LogEvent| matches!(event, LogEvent::TurnFailed { again: true, .. });
        let steps = self.run.steps.saturating_sub(u32::from(calls == 0 && self.log.iter().any(failed)));
        (steps >= limits.steps).then_some(StopReason::StepLimit)
    }

    /// Tokens used since the run was last prompted or continued.
    fn tokens(&self) -> u64 {
        let before = self.run.turns.iter().map(|turn| turn.usage);
        let now = self.log.iter().filter_map(|event| match event {
            LogEvent::TurnEnded { usage, .. } | LogEvent::TurnFailed { usage, .. } => Some(*usage),
            _ => None,
        });
        before.chain(now).map(|used| used.input_tokens.saturating_add(used.output_tokens)).sum()
    }

    /// Ends what has not started, when somebody denied a call and the run is to stop then.
    pub fn stop_turn(&mut self, time: Time) {
        self.denied = true;
        if self.run.options.on_deny == OnDeny::StopTurn {
            self.end_waiting(SupersededBy::Denial, InterruptedBy::Denial, time);
        }
    }

    fn was_denied(&self) -> bool {
        let denied = |result: Option<&CallResult>| matches!(result, Some(CallResult::Denied { .. }));
        self.denied || self.run.current().iter().any(|call| denied(call.result()))
    }

    /// Returns whether the tool that the prompt waits for has given its answer.
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
