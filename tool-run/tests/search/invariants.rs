//! The invariants of every transition: I1 to I9 and I12 of a run, checked from outside.

use std::fmt;
use std::mem::discriminant;

use super::play::{grant_of, is_current};
use super::world::{self, Choice, Gate, Ledger, Move, Says, World};
use tool_run::message::{Message, Part};
use tool_run::run::Digest;
use tool_run::run::{Action, Call, Grant, InterruptKind, LogEntry, Phase, Run, Stage};

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) invariant: &'static str,
    pub(super) what: String,
}

impl Broken {
    pub(super) fn new(invariant: &'static str, what: impl fmt::Display) -> Self {
        Self { invariant, what: what.to_string() }
    }
}

type Held = Result<(), Broken>;

fn hold(invariant: &'static str, holds: bool, what: impl fmt::Display) -> Held {
    if holds { Ok(()) } else { Err(Broken::new(invariant, what)) }
}

/// A transition of a run.
pub(super) struct Transition<'a> {
    pub(super) happens: Move,
    pub(super) before: &'a Run,
    pub(super) events: &'a [LogEntry],
    pub(super) actions: &'a [Action],
    pub(super) after: &'a Run,
}

impl World {
    /// Records a transition, and checks the invariants.
    pub(super) fn observe(&mut self, seen: &Transition<'_>) -> Held {
        self.happened(seen)?;
        for event in seen.events {
            self.logged(event, seen)?;
        }
        for action in seen.actions {
            self.asked_for(action, seen)?;
        }
        for (at, call) in seen.after.calls().iter().enumerate() {
            if !is_current(seen.after, call) || call.result().is_some() {
                self.calls[at].look = false;
            }
        }
        self.conversation(seen.after)?;
        self.goes_on(seen.after)
    }

    /// Records knowledge that does not come from the log.
    fn happened(&mut self, seen: &Transition<'_>) -> Held {
        let before = seen.before.calls();
        match seen.happens {
            Move::Look(at, says, changed) => {
                let stage = before[at].stage();
                let call = &mut self.calls[at];
                call.look = false;
                self.troubles -= u8::from(says != call.kind.says()) + u8::from(changed != call.changed);
                call.changed = changed;
                match (stage, says) {
                    (Stage::Proposed | Stage::Ready, Says::Deny) => call.vetoed = true,
                    (Stage::Proposed, Says::Allow) => call.consent(before[at].arguments().digest),
                    _ => {}
                }
            }
            Move::Decide(at, choice) => {
                let open = before[at].interrupt().expect("it is open");
                let call = &mut self.calls[at];
                hold("I7", call.decided.iter().all(|(number, _)| *number != open.id.number()), "decided twice")?;
                hold("I9", !seen.events.is_empty(), "a decision led to nothing")?;
                call.decided.push((open.id.number(), choice));
                match choice {
                    Choice::Approve => call.consent(before[at].arguments().digest),
                    Choice::Edit => {
                        call.edits += 1;
                        call.permitted.clear();
                        call.consent(Digest::of(world::edited().to_string()));
                    }
                    Choice::Deny | Choice::Respond | Choice::Fail => call.vetoed = true,
                }
            }
            Move::End(at, _) => self.calls[at].live = None,
            Move::Tick => {
                self.now = seen.before.next_expiry().expect("something ends").0;
                self.troubles -= 1;
                let now = self.time();
                for (call, known) in before.iter().zip(&mut self.calls) {
                    let expires = match call.interrupt() {
                        Some(open) => open.expires,
                        None => grant_of(call).and_then(Grant::expires),
                    };
                    known.vetoed |= expires.is_some_and(|expires| expires <= now);
                }
                let is_reported = self.wake.is_some_and(|wake| wake <= self.now);
                self.wake = self.wake.filter(|wake| *wake > now.0);
                hold("I9", is_reported, "something ended, and nobody was to be woken")?;
            }
            Move::Recover => {
                self.troubles -= 1;
                (self.model, self.wake) = (false, None);
                for call in &mut self.calls {
                    (call.live, call.look, call.reported) = (None, false, 0);
                }
            }
            Move::Steer => self.prompts -= 1,
            Move::Fail => {
                (self.model, self.troubles) = (false, self.troubles - 1);
            }
            Move::Prompt | Move::Cancel | Move::Stop => {
                self.prompts -= u8::from(seen.happens == Move::Prompt);
                self.calls.iter_mut().for_each(|call| call.vetoed = true);
            }
            Move::Model => self.model = false,
        }
        Ok(())
    }

    fn logged(&mut self, entry: &LogEntry, seen: &Transition<'_>) -> Held {
        let find = |id: &tool_run::run::CallId| {
            seen.after.calls().iter().position(|call| call.id == *id).ok_or_else(|| Broken::new("I5", "another call"))
        };
        match entry {
            LogEntry::Granted { call, tool, arguments, .. } => {
                let at = find(call)?;
                let call = &mut self.calls[at];
                let tool = *tool == world::tool(at, call.kind, true).reference.fingerprint;
                hold("I4", call.result.is_none(), "granted after the end")?;
                call.grant = Some(Ledger { arguments: *arguments, tool, used: false });
            }
            LogEntry::Opened { call, interrupt } => {
                let at = find(call)?;
                hold("I4", self.calls[at].result.is_none(), "opened after the end")?;
                if interrupt.kind == InterruptKind::External {
                    self.alone(at, seen.after)?;
                    let call = &mut self.calls[at];
                    // An announcement counts as a start, because an outside executor may execute the call from now on.
                    call.begin(seen.after.call(interrupt.id.call()).expect("a call").arguments().digest)?;
                    call.announced = true;
                }
            }
            LogEntry::Started { call, .. } => {
                let at = find(call)?;
                self.alone(at, seen.after)?;
                let call = &mut self.calls[at];
                hold("I1", call.kind.gate != Gate::External, "executed here, and is external")?;
                call.begin(seen.after.calls()[at].arguments().digest)?;
                call.starts += 1;
                let is_consented = call.kind.idempotent || call.starts <= call.consents;
                hold("I3", is_consented, "a start more than anybody agreed to")?;
            }
            LogEntry::Ended { call, result, .. } => {
                let call = &mut self.calls[find(call)?];
                hold("I4", call.result.is_none(), "ended twice")?;
                call.result = Some(discriminant(&**result));
                call.vetoed = true;
            }
            LogEntry::TurnEnded { finish, .. } => self.turn_end = Some(format!("{finish:?}")),
            LogEntry::TurnFailed { error, again, .. } => self.turn_end = Some(format!("{error} {again}")),
            LogEntry::TurnStarted { .. } => {
                self.turn_end = None;
                let all = self.calls.iter().all(|call| call.result.is_some());
                hold("I5", all, "the model is asked while a call is unanswered")?;
            }
            _ => {}
        }
        Ok(())
    }

    /// I12: a call starts only if no earlier call with the same resources must end first.
    fn alone(&self, at: usize, run: &Run) -> Held {
        hold("I12", !self.is_held(at, run), "begins beside a call that touches the same")
    }

    fn is_held(&self, at: usize, run: &Run) -> bool {
        let touches = |at: usize| self.touching.of(at, &run.calls()[at].arguments().text);
        let begun = |at: usize| self.calls[at].starts > 0 || self.calls[at].announced;
        let other = 1 - at;
        let conflict = touches(at).zip(touches(other)).is_some_and(|(one, other)| one.conflicts(&other));
        conflict && self.calls[other].result.is_none() && !begun(at) && (other < at || begun(other))
    }

    fn asked_for(&mut self, action: &Action, seen: &Transition<'_>) -> Held {
        let find =
            |id: &tool_run::run::CallId| seen.after.calls().iter().position(|call| call.id == *id).expect("a call");
        match action {
            Action::Execute { call, attempt } => {
                let started = |entry: &LogEntry| matches!(entry, LogEntry::Started { call: id, .. } if id == call);
                hold("I1", seen.events.iter().any(started), "executed without a logged start")?;
                let at = find(call);
                hold("I1", seen.after.calls()[at].attempts == *attempt, "executed as another attempt")?;
                self.calls[at].live = Some(*attempt);
            }
            Action::Check(call) => self.calls[find(call)].look = true,
            Action::Abort(call) => self.calls[find(call)].live = None,
            Action::Announce(open) => {
                hold("I2", seen.after.interrupt(open).is_some(), "announced, and does not wait")?;
                self.calls[find(open.call())].reported = open.number();
            }
            Action::CallModel => {
                hold("I5", seen.after.phase() == Phase::Generating, "the model is asked, and nobody waits for it")?;
                self.model = true;
            }
            Action::AbortModel => self.model = false,
            Action::Wake(at) => self.wake = Some(self.wake.map_or(at.0, |wake| wake.min(at.0))),
        }
        Ok(())
    }

    /// I4, I5 and I6: the texts for the model.
    fn conversation(&self, run: &Run) -> Held {
        let answers = run.messages().iter().filter_map(|message| match message {
            Message::Tool(answer) => Some(answer),
            _ => None,
        });
        let answers: Vec<_> = answers.collect();
        let all_done = self.calls.iter().all(|call| call.result.is_some());
        hold("I5", answers.len() == if all_done { 2 } else { 0 }, "not one answer for each call, all at once")?;
        for (call, seen) in run.calls().iter().zip(&self.calls) {
            let result = call.result().map(discriminant);
            hold("I4", result == seen.result, "the result is another than was logged")?;
        }
        for ((answer, call), seen) in answers.iter().zip(run.calls()).zip(&self.calls) {
            hold("I5", answer.call_id == call.id.as_str(), "the answers are in another order")?;
            let text: String = answer.content.iter().map(text).collect();
            let denies = text.contains("did not run");
            let denied = seen.decided.last().is_some_and(|(_, choice)| *choice == Choice::Deny);
            let may_have_run = seen.starts > 0 || seen.announced && !denied;
            hold("I6", !(denies && may_have_run), format_args!("told that it did not run: {text}"))?;
        }
        Ok(())
    }

    /// I9: a run that is not over waits for something that will happen.
    fn goes_on(&self, run: &Run) -> Held {
        if !matches!(run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended) {
            return Ok(());
        }
        let is_reported = |call: &Call| {
            call.interrupt().is_none_or(|open| self.calls[call.index as usize].reported == open.id.number())
        };
        hold("I9", run.current_calls().iter().all(is_reported), "waits for somebody whom nobody told")?;
        let wake = run.next_expiry().is_none_or(|at| self.wake.is_some_and(|wake| wake <= at.0));
        hold("I9", wake, "something ends, and nobody is to be woken")?;
        let current = || run.calls().iter().zip(&self.calls).filter(|(call, _)| is_current(run, call));
        let is_live = current().any(|(_, seen)| seen.live.is_some()) || self.model;
        // The check of a held call has no effect yet.
        let is_held = |call: &Call| call.stage() == Stage::Ready && self.is_held(call.index as usize, run);
        let looks = current().any(|(call, seen)| seen.look && call.stage() != Stage::Open && !is_held(call));
        let waits = run.interrupts().next().is_some();
        hold("I9", is_live || looks || waits, "goes on, and nothing will come")?;
        let suspended = run.phase() == Phase::Suspended;
        hold("I9", suspended == (waits && !is_live && !looks), "is suspended just where only a person can help")
    }
}

impl world::Seen {
    fn consent(&mut self, arguments: Digest) {
        self.consents += 1;
        if !self.permitted.contains(&arguments) {
            self.permitted.push(arguments);
        }
    }

    /// Records the start of the call, here or outside.
    fn begin(&mut self, arguments: Digest) -> Held {
        hold("I2", !self.vetoed, "begins after it was denied, superseded, expired or answered")?;
        let Some(grant) = &mut self.grant else { return Err(Broken::new("I1", "begins without a grant")) };
        hold("I1", !grant.used, "begins with a grant that was used")?;
        hold("I1", grant.arguments == arguments, "begins with a grant for other arguments")?;
        hold("I1", grant.tool == self.changed, "begins with a grant for another tool")?;
        grant.used = true;
        hold("I1", self.permitted.contains(&arguments), "begins with arguments that nobody agreed to")
    }
}

fn text(part: &Part) -> &str {
    part.as_text().unwrap_or_default()
}
