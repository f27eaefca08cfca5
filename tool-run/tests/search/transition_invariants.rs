//! The invariants I1 to I8 and I11 of every transition of two calls, checked against the world around them.

use std::fmt;
use std::mem::discriminant;

use super::moves::{grant_of, is_current};
use super::world::{self, Choice, LoggedGrant, Move, Obstacle, PolicyAnswer, World};
use tool_run::message::{Message, Part};
use tool_run::run::{Action, Call, Digest, Grant, InterruptKind, LogEntry, Phase, Run, Stage};

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) invariant: &'static str,
    pub(super) message: String,
}

impl Violation {
    pub(super) fn new(invariant: &'static str, message: impl fmt::Display) -> Self {
        Self { invariant, message: message.to_string() }
    }
}

/// The result of a check.
pub(super) type CheckResult = Result<(), Violation>;

/// Fails with `message` if `holds` is not set.
fn ensure(invariant: &'static str, holds: bool, message: impl fmt::Display) -> CheckResult {
    if holds { Ok(()) } else { Err(Violation::new(invariant, message)) }
}

/// A transition of a run.
pub(super) struct Transition<'a> {
    pub(super) cause: Move,
    pub(super) before: &'a Run,
    pub(super) entries: &'a [LogEntry],
    pub(super) actions: &'a [Action],
    pub(super) after: &'a Run,
}

impl World {
    /// Records a transition, and checks the invariants.
    pub(super) fn observe(&mut self, transition: &Transition<'_>) -> CheckResult {
        self.apply_move(transition)?;
        for entry in transition.entries {
            self.apply_entry(entry, transition)?;
        }
        for action in transition.actions {
            self.apply_action(action, transition)?;
        }
        for (at, call) in transition.after.calls().iter().enumerate() {
            if !is_current(transition.after, call) || call.result().is_some() {
                self.calls[at].must_check = false;
            }
        }
        self.check_conversation(transition.after)?;
        self.check_progress(transition.after)
    }

    /// Records the facts of the move, because the log does not have all of them.
    fn apply_move(&mut self, transition: &Transition<'_>) -> CheckResult {
        let before = transition.before.calls();
        match transition.cause {
            Move::Check(at, answer, changed) => {
                let stage = before[at].stage();
                let call = &mut self.calls[at];
                call.must_check = false;
                self.troubles -= u8::from(answer != call.kind.policy_answer()) + u8::from(changed != call.changed);
                call.changed = changed;
                match (stage, answer) {
                    (Stage::Proposed | Stage::Ready, PolicyAnswer::Deny) => call.vetoed = true,
                    (Stage::Proposed, PolicyAnswer::Allow) => call.consent(before[at].arguments().digest),
                    _ => {}
                }
            }
            Move::Decide(at, choice) => {
                let open = before[at].interrupt().expect("it is open");
                let call = &mut self.calls[at];
                ensure(
                    "I7",
                    call.decided.iter().all(|(number, _)| *number != open.id.number()),
                    "an interrupt is decided twice",
                )?;
                ensure("I8", !transition.entries.is_empty(), "a decision has no effect")?;
                call.decided.push((open.id.number(), choice));
                match choice {
                    Choice::Approve => call.consent(before[at].arguments().digest),
                    Choice::Edit => {
                        call.edits += 1;
                        call.permitted.clear();
                        call.consent(Digest::of(world::edited_arguments().to_string()));
                    }
                    Choice::Deny | Choice::Respond | Choice::Fail => call.vetoed = true,
                }
            }
            Move::End(at, _) => self.calls[at].live = None,
            Move::Begin(at) => self.calls[at].begun = true,
            Move::Withdraw(at, late) => {
                self.calls[at].live = self.calls[at].live.filter(|_| !late);
                self.troubles -= u8::from(!late);
                ensure("I8", !transition.entries.is_empty() || !late, "the end of a wait has no effect")?;
            }
            Move::Tick => {
                self.now = transition.before.next_expiry().expect("something expires").0;
                self.troubles -= 1;
                let now = self.time();
                for (call, known) in before.iter().zip(&mut self.calls) {
                    let expires = match call.interrupt() {
                        Some(open) => open.expires_at,
                        None => grant_of(call).and_then(Grant::expires),
                    };
                    known.vetoed |= expires.is_some_and(|expires| expires <= now);
                }
                let is_planned = self.wake.is_some_and(|wake| wake <= self.now);
                self.wake = self.wake.filter(|wake| *wake > now.0);
                ensure("I8", is_planned, "an interrupt or a grant expired, and the driver did not plan a tick")?;
            }
            Move::Recover => {
                self.troubles -= 1;
                (self.model, self.wake) = (false, None);
                for call in &mut self.calls {
                    (call.live, call.must_check, call.reported) = (None, false, 0);
                }
            }
            Move::Steer => self.prompts -= 1,
            Move::Fail => {
                (self.model, self.troubles) = (false, self.troubles - 1);
            }
            Move::Prompt | Move::Cancel | Move::Stop => {
                self.prompts -= u8::from(transition.cause == Move::Prompt);
                self.calls.iter_mut().for_each(|call| call.vetoed = true);
            }
            Move::Model => self.model = false,
        }
        Ok(())
    }

    /// Records a log entry.
    fn apply_entry(&mut self, entry: &LogEntry, transition: &Transition<'_>) -> CheckResult {
        let find = |id: &tool_run::run::CallId| {
            transition
                .after
                .calls()
                .iter()
                .position(|call| call.id == *id)
                .ok_or_else(|| Violation::new("I5", "an entry names an unknown call"))
        };
        match entry {
            LogEntry::CallGranted { call, tool, arguments, .. } => {
                let at = find(call)?;
                let call = &mut self.calls[at];
                let changed = *tool == world::tool(at, call.kind, true).reference.fingerprint;
                ensure("I4", call.result.is_none(), "a call is granted after its end")?;
                call.grant = Some(LoggedGrant { arguments: *arguments, changed, used: false });
            }
            LogEntry::Opened { call, interrupt } => {
                let at = find(call)?;
                ensure("I4", self.calls[at].result.is_none(), "an interrupt is opened after the end of its call")?;
                if interrupt.kind == InterruptKind::External {
                    self.check_exclusive(at, transition.after)?;
                    let call = &mut self.calls[at];
                    // An announcement counts as a start, because an outside executor may execute the call from now on.
                    call.begin(transition.after.call(interrupt.id.call()).expect("a call").arguments().digest)?;
                    call.announced = true;
                }
            }
            LogEntry::CallStarted { call, .. } => {
                let at = find(call)?;
                self.check_exclusive(at, transition.after)?;
                let call = &mut self.calls[at];
                ensure("I1", call.kind.obstacle != Obstacle::External, "an external call starts here")?;
                call.begin(transition.after.calls()[at].arguments().digest)?;
                call.starts += 1;
                let is_consented = call.kind.idempotent || call.starts <= call.consents;
                ensure("I3", is_consented, "a call starts more often than it was permitted")?;
            }
            LogEntry::CallWithdrawn { call } => {
                let call = &mut self.calls[find(call)?];
                ensure("I6", !call.begun && call.starts == 1, "a start is withdrawn, and the function may have begun")?;
                (call.starts, call.consents, call.live) = (0, call.consents - 1, None);
            }
            LogEntry::CallEnded { call, result, .. } => {
                let call = &mut self.calls[find(call)?];
                ensure("I4", call.result.is_none(), "a call ends twice")?;
                call.result = Some(discriminant(&**result));
                call.vetoed = true;
            }
            LogEntry::TurnEnded { finish, .. } => self.turn_end = Some(format!("{finish:?}")),
            LogEntry::TurnFailed { error, again, .. } => self.turn_end = Some(format!("{error} {again}")),
            LogEntry::TurnStarted { .. } => {
                self.turn_end = None;
                let all = self.calls.iter().all(|call| call.result.is_some());
                ensure("I5", all, "the model is asked before every call has ended")?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that a call starts only if it need not wait for a conflicting call (I11).
    fn check_exclusive(&self, at: usize, run: &Run) -> CheckResult {
        ensure("I11", !self.is_held(at, run), "a call starts although a conflicting call has not ended")
    }

    /// Returns whether a call must wait for the other one.
    fn is_held(&self, at: usize, run: &Run) -> bool {
        let touches = |at: usize| self.touching.of(at, &run.calls()[at].arguments().text);
        let begun = |at: usize| self.calls[at].starts > 0 || self.calls[at].announced;
        let other = 1 - at;
        let conflict = touches(at).zip(touches(other)).is_some_and(|(one, other)| one.conflicts(&other));
        conflict && self.calls[other].result.is_none() && !begun(at) && (other < at || begun(other))
    }

    /// Records an action of the driver.
    fn apply_action(&mut self, action: &Action, transition: &Transition<'_>) -> CheckResult {
        let find = |id: &tool_run::run::CallId| {
            transition.after.calls().iter().position(|call| call.id == *id).expect("a call")
        };
        match action {
            Action::Execute { call, attempt } => {
                let started = |entry: &LogEntry| matches!(entry, LogEntry::CallStarted { call: id, .. } if id == call);
                ensure("I1", transition.entries.iter().any(started), "a call is executed without a logged start")?;
                let at = find(call);
                ensure(
                    "I1",
                    transition.after.calls()[at].attempts == *attempt,
                    "a call is executed with the number of another attempt",
                )?;
                self.calls[at].live = Some(*attempt);
            }
            Action::Check(call) => self.calls[find(call)].must_check = true,
            Action::Abort(call) => self.calls[find(call)].live = None,
            Action::Announce(open) => {
                ensure("I2", transition.after.interrupt(open).is_some(), "an interrupt is announced that is not open")?;
                self.calls[find(open.call())].reported = open.number();
            }
            Action::CallModel => {
                ensure(
                    "I5",
                    transition.after.phase() == Phase::Generating,
                    "the model is asked, but the run does not wait for it",
                )?;
                self.model = true;
            }
            Action::AbortModel => self.model = false,
            Action::Wake(at) => self.wake = Some(self.wake.map_or(at.0, |wake| wake.min(at.0))),
        }
        Ok(())
    }

    /// Checks the results (I4), the number and the order of the answers (I5), and their texts (I6).
    fn check_conversation(&self, run: &Run) -> CheckResult {
        let answers = run.messages().iter().filter_map(|message| match message {
            Message::Tool(answer) => Some(answer),
            _ => None,
        });
        let answers: Vec<_> = answers.collect();
        let all_done = self.calls.iter().all(|call| call.result.is_some());
        ensure(
            "I5",
            answers.len() == if all_done { 2 } else { 0 },
            "the calls do not get one answer each, all at once",
        )?;
        for (call, facts) in run.calls().iter().zip(&self.calls) {
            let result = call.result().map(discriminant);
            ensure("I4", result == facts.result, "a call has another result than its entry")?;
        }
        for ((answer, call), facts) in answers.iter().zip(run.calls()).zip(&self.calls) {
            ensure("I5", answer.call_id == call.id.as_str(), "the answers are not in the order of the calls")?;
            let text: String = answer.content.iter().map(text).collect();
            let denies = text.contains("did not run");
            let denied = facts.decided.last().is_some_and(|(_, choice)| *choice == Choice::Deny);
            let may_have_run = facts.starts > 0 || facts.announced && !denied;
            ensure(
                "I6",
                !(denies && may_have_run),
                format_args!("the model reads that a call did not run, and it may have: {text}"),
            )?;
        }
        Ok(())
    }

    /// Checks that a run that is not over waits for something that will come (I8).
    fn check_progress(&self, run: &Run) -> CheckResult {
        if !matches!(run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended) {
            return Ok(());
        }
        let is_reported = |call: &Call| {
            call.interrupt().is_none_or(|open| self.calls[call.index as usize].reported == open.id.number())
        };
        ensure("I8", run.current_calls().iter().all(is_reported), "an open interrupt was not announced")?;
        let wake = run.next_expiry().is_none_or(|at| self.wake.is_some_and(|wake| wake <= at.0));
        ensure("I8", wake, "an interrupt or a grant will expire, and the driver does not plan a tick")?;
        let current = || run.calls().iter().zip(&self.calls).filter(|(call, _)| is_current(run, call));
        let is_live = current().any(|(_, facts)| facts.live.is_some()) || self.model;
        // The check of a held call has no effect yet.
        let is_held = |call: &Call| call.stage() == Stage::Ready && self.is_held(call.index as usize, run);
        let is_checking =
            current().any(|(call, facts)| facts.must_check && call.stage() != Stage::Open && !is_held(call));
        let waits = run.interrupts().next().is_some();
        ensure("I8", is_live || is_checking || waits, "the run waits for nothing")?;
        let suspended = run.phase() == Phase::Suspended;
        ensure(
            "I8",
            suspended == (waits && !is_live && !is_checking),
            "the run is suspended while something will come, or it is not while only a decision helps",
        )
    }
}

impl world::CallFacts {
    /// Records that a person or a policy permits a start with these arguments.
    fn consent(&mut self, arguments: Digest) {
        self.consents += 1;
        if !self.permitted.contains(&arguments) {
            self.permitted.push(arguments);
        }
    }

    /// Records the start of the call, here or outside.
    fn begin(&mut self, arguments: Digest) -> CheckResult {
        ensure("I2", !self.vetoed, "a call starts after it was denied, superseded, expired or answered")?;
        let Some(grant) = &mut self.grant else { return Err(Violation::new("I1", "a call starts without a grant")) };
        ensure("I1", !grant.used, "a call starts with a grant that was used")?;
        ensure("I1", grant.arguments == arguments, "a call starts with a grant for other arguments")?;
        ensure("I1", grant.changed == self.changed, "a call starts with a grant for another definition of its tool")?;
        grant.used = true;
        ensure("I1", self.permitted.contains(&arguments), "a call starts with arguments that were not permitted")
    }
}

fn text(part: &Part) -> &str {
    part.as_text().unwrap_or_default()
}
