//! The invariants I1 to I8, I10 and I11 of any run, checked from its entries, its actions and its state.

use std::{collections::HashMap, sync::Arc};

use tool_run::message::Message;
use tool_run::run::{
    Action, CallId, CallResult, Decision, Digest, GrantedBy, InterruptId, InterruptKind, LogEntry, Phase, Run, Stage,
};
use tool_run::tool::{Fingerprint, TouchedResources};

/// The facts in the log's entries about one call so far.
#[derive(Default)]
struct CallRecord {
    grant: Option<(Fingerprint, Digest)>,
    arguments: Option<Digest>,
    tool: Option<Fingerprint>,
    is_repeatable: bool,
    is_resumable: bool,
    /// The durable steps that began and have no result.
    steps: Vec<String>,
    /// Set if the call is lost, and a person was asked for its outcome.
    is_lost: bool,
    is_external: bool,
    /// The number of permissions to start: from a person, a policy, an answer or a retry.
    consents: u32,
    starts: u32,
    ended: bool,
    denied: bool,
    touches: Option<Arc<TouchedResources>>,
    /// Set if the call was started here, or announced to an outside executor.
    begun: bool,
    /// Set if the function of the call recorded a step or asked a question.
    worked: bool,
    /// Set if the call's tool was not on offer.
    is_hidden: bool,
}

/// A reader of a run's log that reports violated invariants.
#[derive(Default)]
pub(super) struct LogChecker {
    calls: HashMap<CallId, CallRecord>,
    decided: HashMap<InterruptId, Decision>,
    /// The tools on offer in the turn, if the log names them.
    offered: Option<Vec<String>>,
}

/// Fails with `message` if `holds` is not set.
fn ensure(holds: bool, message: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message.to_owned()) }
}

impl LogChecker {
    /// Returns the number of calls that were started here.
    pub(super) fn count_started(&self) -> usize {
        self.calls.values().filter(|record| record.starts > 0).count()
    }

    /// Reads the entries of a transition, and checks the invariants.
    pub(super) fn check(
        &mut self,
        before: &Run,
        entries: &[LogEntry],
        actions: &[Action],
        after: &Run,
    ) -> Result<(), String> {
        for entry in entries {
            self.check_exclusive(entry, after)?;
            self.apply_entry(entry)?;
        }
        for action in actions {
            match action {
                Action::Execute { call, attempt } => {
                    let started =
                        |entry: &LogEntry| matches!(entry, LogEntry::CallStarted { call: id, .. } if id == call);
                    ensure(entries.iter().any(started), "I1: a call is executed without a logged start")?;
                    ensure(
                        after.call(call).is_some_and(|call| call.attempts == *attempt),
                        "I1: a call is executed with the number of another attempt",
                    )?;
                }
                Action::CallModel => ensure(
                    after.phase() == Phase::Generating,
                    "I5: the model is asked, but the run does not wait for it",
                )?,
                Action::Announce(open) => {
                    ensure(after.interrupt(open).is_some(), "I2: an interrupt is announced that is not open")?;
                }
                _ => {}
            }
        }
        for (call, now) in before.calls().iter().zip(after.calls()) {
            ensure(call.result().is_none() || call.result() == now.result(), "I4: the result of a call changed")?;
        }
        check_conversation(after)?;
        check_limits(after)?;
        check_progress(after)
    }

    /// Reads one entry.
    fn apply_entry(&mut self, entry: &LogEntry) -> Result<(), String> {
        match entry {
            LogEntry::Offered { tools } => self.offered = Some(tools.clone()),
            LogEntry::Called { call, name, arguments, .. } => {
                let is_hidden = self.offered.as_ref().is_some_and(|offered| !offered.contains(name));
                let arguments = Some(Digest::of(arguments.as_bytes()));
                let record = CallRecord { arguments, is_hidden, ..CallRecord::default() };
                ensure(self.calls.insert(call.clone(), record).is_none(), "I5: two calls have one id")?;
            }
            LogEntry::CallAccepted { call, tool, touches, .. } => {
                let record = self.record(call);
                record.touches.clone_from(touches);
                record.tool = Some(tool.fingerprint);
                (record.is_repeatable, record.is_resumable) = (tool.is_repeatable(), tool.resumable);
                record.is_external = tool.external;
            }
            // A migrated call has no tool until it is checked again, so no earlier grant matches.
            LogEntry::Migrated { call, .. } => self.record(call).tool = None,
            LogEntry::Repaired { call, arguments, .. } => {
                let record = self.record(call);
                ensure(record.tool.is_none(), "I1: a call is repaired after its tool has accepted it")?;
                record.arguments = Some(Digest::of(arguments.as_bytes()));
            }
            LogEntry::Edited { call, arguments, touches, .. } => {
                self.record(call).touches.clone_from(touches);
                self.record(call).arguments = Some(Digest::of(arguments.as_bytes()));
            }
            LogEntry::Decided { interrupt, decision, .. } => {
                let record = self.record(interrupt.call());
                record.denied |= matches!(decision, Decision::Deny { .. } | Decision::Respond { .. });
                let first = self.decided.insert(interrupt.clone(), decision.clone()).is_none();
                ensure(first, "I7: an interrupt is decided twice")?;
            }
            LogEntry::Answered { call, .. } => self.record(call).denied = false,
            LogEntry::CallGranted { call, tool, arguments, by, .. } => {
                let record = self.record(call);
                ensure(!record.ended && !record.denied, "I2: a call is granted after its end, or after a denial")?;
                ensure(!record.is_hidden, "Guarantee 12: a call is granted whose tool was not on offer")?;
                let may_rerun = record.is_repeatable || record.is_resumable && record.steps.is_empty();
                ensure(*by != GrantedBy::Rerun || may_rerun, "I3: a call starts again that is not safe to repeat")?;
                if std::mem::take(&mut record.is_lost) {
                    record.steps.clear();
                }
                record.consents += 1;
                record.grant = Some((*tool, *arguments));
            }
            LogEntry::Opened { call, interrupt } => {
                let record = self.record(call);
                ensure(!record.ended, "I4: an interrupt is opened after the end of its call")?;
                let grant = record.grant.take();
                record.is_lost = interrupt.kind == InterruptKind::Reconcile;
                record.worked |= matches!(interrupt.kind, InterruptKind::Question { .. } | InterruptKind::Inner { .. });
                if interrupt.kind == InterruptKind::External {
                    record.begun = true;
                    ensure(
                        grant == record.tool.zip(record.arguments),
                        "I1: a call is announced without a grant for it",
                    )?;
                }
            }
            LogEntry::DurableStepStarted { call, name } => {
                self.record(call).worked = true;
                self.record(call).steps.push(name.clone());
            }
            LogEntry::DurableStepEnded { call, name, .. } => {
                self.record(call).worked = true;
                let steps = &mut self.record(call).steps;
                let begun = steps.iter().position(|begun| begun == name);
                begun.map(|at| steps.remove(at));
            }
            LogEntry::CallStarted { call, .. } => self.start(call)?,
            LogEntry::CallWithdrawn { call } => {
                let record = self.record(call);
                ensure(record.starts == 1 && !record.worked, "I6: a start is withdrawn, and the call may have run")?;
                (record.starts, record.consents, record.begun, record.tool) = (0, record.consents - 1, false, None);
            }
            LogEntry::CallEnded { call, result, .. } => {
                let record = self.record(call);
                ensure(!record.ended, "I4: a call ends twice")?;
                record.ended = true;
                let is_never = matches!(**result, CallResult::Denied { .. } | CallResult::Responded { .. });
                ensure(
                    !(is_never && record.starts > 0),
                    "I6: a call ends as denied or answered by a person after its start",
                )?;
            }
            LogEntry::TurnStarted { .. } => {
                self.offered = None;
                ensure(
                    self.calls.values().all(|record| record.ended),
                    "I5: the model is asked before every call has ended",
                )?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks the start of a call.
    fn start(&mut self, call: &CallId) -> Result<(), String> {
        let record = self.record(call);
        ensure(!record.is_external, "I1: an external call starts here")?;
        ensure(!record.ended, "I2: a call starts after its end")?;
        let grant = record.grant.take();
        ensure(
            grant.is_some() && grant == record.tool.zip(record.arguments),
            "I1: a call starts without a grant for it",
        )?;
        record.starts += 1;
        record.begun = true;
        ensure(record.starts <= record.consents, "I3: a call starts more often than it was granted")
    }

    /// Checks that a call starts only if it need not wait for a conflicting call (I11).
    fn check_exclusive(&self, entry: &LogEntry, run: &Run) -> Result<(), String> {
        let call = match entry {
            LogEntry::CallStarted { call, .. } => call,
            LogEntry::Opened { call, interrupt } if interrupt.kind == InterruptKind::External => call,
            _ => return Ok(()),
        };
        let at = |id: &CallId| run.calls().iter().position(|call| call.id == *id);
        let Some(own) = self.calls.get(call).filter(|own| !own.begun) else { return Ok(()) };
        let waits = self.calls.iter().any(|(id, other)| {
            let conflicts = own.touches.as_ref().zip(other.touches.as_ref()).is_some_and(|(a, b)| a.conflicts(b));
            id != call && conflicts && !other.ended && (other.begun || at(id) < at(call))
        });
        ensure(!waits, "I11: a call starts although a conflicting call has not ended")
    }

    /// Returns the facts about `call` so far.
    fn record(&mut self, call: &CallId) -> &mut CallRecord {
        self.calls.entry(call.clone()).or_default()
    }
}

/// Checks that all calls of a turn are answered together, each once, in the model's order (I5), and that no text claims
/// that a started call did not run (I6).
fn check_conversation(run: &Run) -> Result<(), String> {
    let answers = run.messages().iter().filter_map(|message| match message {
        Message::Tool(answer) => Some(answer),
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    let is_open = run.current_calls().iter().any(|call| call.result().is_none()) || run.phase() == Phase::Generating;
    let expected = if is_open { run.calls().len() - run.current_calls().len() } else { run.calls().len() };
    ensure(answers.len() == expected, "I5: the calls do not get one answer each, all at once")?;
    for (answer, call) in answers.into_iter().zip(run.calls()) {
        ensure(answer.call_id == call.id.as_str(), "I5: the answers are not in the order of the calls")?;
        let denies = answer.content.iter().any(|part| part.as_text().is_some_and(|text| text.contains("did not run")));
        ensure(!(denies && call.may_have_run()), "I6: the model reads that a call did not run, and it may have")?;
    }
    Ok(())
}

/// Checks that the run stays within its limits (I10).
fn check_limits(run: &Run) -> Result<(), String> {
    let limits = &run.options().limits;
    let count = |stage| run.current_calls().iter().filter(|call| call.stage() == stage).count();
    ensure(count(Stage::Running) <= limits.parallel_calls as usize, "I10: too many calls run")?;
    // A person is asked about lost calls, even above the limit.
    ensure(
        count(Stage::Open) <= (limits.open_interrupts + limits.parallel_calls) as usize,
        "I10: too many calls wait for a decision",
    )?;
    ensure(run.queue().len() <= limits.open_interrupts as usize, "I10: too many prompts wait")?;
    ensure(run.steps() <= limits.steps, "I10: the run takes too many steps")?;
    for call in run.calls() {
        ensure(call.arguments().text.len() <= limits.argument_bytes, "I10: the arguments of a call are too large")?;
        ensure(
            call.answers().len() + call.steps().len() <= limits.recorded_steps as usize,
            "I10: a call has too many record steps and answers",
        )?;
    }
    Ok(())
}

/// Checks that the run waits for a decision if no call runs, is checked, or may start (I8).
fn check_progress(run: &Run) -> Result<(), String> {
    if !matches!(run.phase(), Phase::Acting | Phase::Suspended) {
        return Ok(());
    }
    let at = |stage| run.current_calls().iter().any(|call| call.stage() == stage);
    let is_moving = at(Stage::Running) || at(Stage::Proposed);
    ensure(is_moving || at(Stage::Ready) || at(Stage::Open), "I8: the run waits for nothing")?;
    ensure(!at(Stage::Lost), "I8: a call is lost, and no person is asked about it")?;
    ensure(run.phase() != Phase::Suspended || !is_moving, "I8: the run is suspended while a call runs or is checked")
}
