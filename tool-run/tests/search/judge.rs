//! The invariants of any run, checked from its log alone.

use std::{collections::HashMap, sync::Arc};

use tool_run::message::Message;
use tool_run::run::Digest;
use tool_run::run::{
    Action, CallId, CallResult, Decision, GrantedBy, InterruptId, InterruptKind, LogEntry, Phase, Run, Stage,
};
use tool_run::tool::{Fingerprint, Resources};

/// The log's entries about one call so far.
#[derive(Default)]
struct Recorded {
    grant: Option<(Fingerprint, Digest)>,
    arguments: Option<Digest>,
    tool: Option<Fingerprint>,
    is_repeatable: bool,
    is_resumable: bool,
    /// Steps that were begun and have no result.
    steps: Vec<String>,
    /// Set if a person is asked for its outcome.
    is_lost: bool,
    is_external: bool,
    /// The number of permissions to start: from a person, a policy, an answer or a retry.
    consents: u32,
    starts: u32,
    ended: bool,
    denied: bool,
    touches: Option<Arc<Resources>>,
    /// Set if it was started here, or announced to an outside executor.
    begun: bool,
    /// Set if the model was not offered its tool.
    is_hidden: bool,
}

/// A reader of a run's log that reports violations.
#[derive(Default)]
pub(super) struct Judge {
    calls: HashMap<CallId, Recorded>,
    decided: HashMap<InterruptId, Decision>,
    /// The tools on offer in the turn, if the log names them.
    offered: Option<Vec<String>>,
}

fn hold(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

impl Judge {
    pub(super) fn started(&self) -> usize {
        self.calls.values().filter(|recorded| recorded.starts > 0).count()
    }

    pub(super) fn judge(
        &mut self,
        before: &Run,
        events: &[LogEntry],
        actions: &[Action],
        after: &Run,
    ) -> Result<(), String> {
        for event in events {
            self.alone(event, after)?;
            self.logged(event)?;
        }
        for action in actions {
            match action {
                Action::Execute { call, attempt } => {
                    let started = |entry: &LogEntry| matches!(entry, LogEntry::Started { call: id, .. } if id == call);
                    hold(events.iter().any(started), "I1: executed without a logged start")?;
                    hold(after.call(call).is_some_and(|call| call.attempts == *attempt), "I1: another attempt")?;
                }
                Action::CallModel => hold(after.phase() == Phase::Generating, "I5: the model is asked for nothing")?,
                Action::Announce(open) => hold(after.interrupt(open).is_some(), "I2: announced what does not wait")?,
                _ => {}
            }
        }
        for (call, now) in before.calls().iter().zip(after.calls()) {
            hold(call.result().is_none() || call.result() == now.result(), "I4: a result changed")?;
        }
        conversation(after)?;
        bounded(after)?;
        goes_on(after)
    }

    fn logged(&mut self, entry: &LogEntry) -> Result<(), String> {
        match entry {
            LogEntry::Offered { tools } => self.offered = Some(tools.clone()),
            LogEntry::Called { call, name, arguments, .. } => {
                let is_hidden = self.offered.as_ref().is_some_and(|offered| !offered.contains(name));
                let arguments = Some(Digest::of(arguments.as_bytes()));
                let recorded = Recorded { arguments, is_hidden, ..Recorded::default() };
                hold(self.calls.insert(call.clone(), recorded).is_none(), "I5: two calls with one id")?;
            }
            LogEntry::Checked { call, tool, touches, .. } => {
                let recorded = self.recorded(call);
                recorded.touches.clone_from(touches);
                recorded.tool = Some(tool.fingerprint);
                (recorded.is_repeatable, recorded.is_resumable) = (tool.is_repeatable(), tool.resumable);
                recorded.is_external = tool.external;
            }
            // The call is checked anew, so earlier grants are void.
            LogEntry::Migrated { call, .. } => self.recorded(call).tool = None,
            LogEntry::Repaired { call, arguments, .. } => {
                let recorded = self.recorded(call);
                hold(recorded.tool.is_none(), "I1: repaired when it was judged")?;
                recorded.arguments = Some(Digest::of(arguments.as_bytes()));
            }
            LogEntry::Edited { call, arguments, touches, .. } => {
                self.recorded(call).touches.clone_from(touches);
                self.recorded(call).arguments = Some(Digest::of(arguments.as_bytes()));
            }
            LogEntry::Decided { interrupt, decision, .. } => {
                let recorded = self.recorded(interrupt.call());
                recorded.denied |= matches!(decision, Decision::Deny { .. } | Decision::Respond { .. });
                let first = self.decided.insert(interrupt.clone(), decision.clone()).is_none();
                hold(first, "I7: decided twice")?;
            }
            LogEntry::Answered { call, .. } => self.recorded(call).denied = false,
            LogEntry::Granted { call, tool, arguments, by, .. } => {
                let recorded = self.recorded(call);
                hold(!recorded.ended && !recorded.denied, "I2: granted after the end, or after a denial")?;
                hold(!recorded.is_hidden, "S12: granted, and was not on offer")?;
                let may_rerun = recorded.is_repeatable || recorded.is_resumable && recorded.steps.is_empty();
                hold(*by != GrantedBy::Rerun || may_rerun, "I3: started again, and is not repeatable")?;
                if std::mem::take(&mut recorded.is_lost) {
                    recorded.steps.clear();
                }
                recorded.consents += 1;
                recorded.grant = Some((*tool, *arguments));
            }
            LogEntry::Opened { call, interrupt } => {
                let recorded = self.recorded(call);
                hold(!recorded.ended, "I4: opened after the end")?;
                let grant = recorded.grant.take();
                recorded.is_lost = interrupt.kind == InterruptKind::Reconcile;
                if interrupt.kind == InterruptKind::External {
                    recorded.begun = true;
                    hold(grant == recorded.tool.zip(recorded.arguments), "I1: announced without a grant for it")?;
                }
            }
            LogEntry::StepStarted { call, name } => self.recorded(call).steps.push(name.clone()),
            LogEntry::StepEnded { call, name, .. } => {
                let steps = &mut self.recorded(call).steps;
                let begun = steps.iter().position(|begun| begun == name);
                begun.map(|at| steps.remove(at));
            }
            LogEntry::Started { call, .. } => {
                let recorded = self.recorded(call);
                hold(!recorded.ended && !recorded.is_external, "I2: started after the end, or here and is external")?;
                let grant = recorded.grant.take();
                hold(
                    grant.is_some() && grant == recorded.tool.zip(recorded.arguments),
                    "I1: started without a grant for it",
                )?;
                recorded.starts += 1;
                recorded.begun = true;
                hold(recorded.starts <= recorded.consents, "I3: more starts than grants")?;
            }
            LogEntry::Ended { call, result, .. } => {
                let recorded = self.recorded(call);
                hold(!recorded.ended, "I4: ended twice")?;
                recorded.ended = true;
                let is_never = matches!(**result, CallResult::Denied { .. } | CallResult::Responded { .. });
                hold(!(is_never && recorded.starts > 0), "I6: denied after a start")?;
            }
            LogEntry::TurnStarted { .. } => {
                self.offered = None;
                hold(
                    self.calls.values().all(|recorded| recorded.ended),
                    "I5: the model is asked, and a call is unanswered",
                )?;
            }
            _ => {}
        }
        Ok(())
    }

    /// I12.
    fn alone(&self, entry: &LogEntry, run: &Run) -> Result<(), String> {
        let call = match entry {
            LogEntry::Started { call, .. } => call,
            LogEntry::Opened { call, interrupt } if interrupt.kind == InterruptKind::External => call,
            _ => return Ok(()),
        };
        let at = |id: &CallId| run.calls().iter().position(|call| call.id == *id);
        let Some(own) = self.calls.get(call).filter(|own| !own.begun) else { return Ok(()) };
        let waits = self.calls.iter().any(|(id, other)| {
            let conflicts = own.touches.as_ref().zip(other.touches.as_ref()).is_some_and(|(a, b)| a.conflicts(b));
            id != call && conflicts && !other.ended && (other.begun || at(id) < at(call))
        });
        hold(!waits, "I12: begins beside a call that touches the same")
    }

    fn recorded(&mut self, call: &CallId) -> &mut Recorded {
        self.calls.entry(call.clone()).or_default()
    }
}

/// I5 and I6: all calls are answered together, each once, in the model's order, and no text claims that a started call did not
/// run.
fn conversation(run: &Run) -> Result<(), String> {
    let answers = run.messages().iter().filter_map(|message| match message {
        Message::Tool(answer) => Some(answer),
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    let is_open = run.current_calls().iter().any(|call| call.result().is_none()) || run.phase() == Phase::Generating;
    let expected = if is_open { run.calls().len() - run.current_calls().len() } else { run.calls().len() };
    hold(answers.len() == expected, "I5: not one answer for each call")?;
    for (answer, call) in answers.into_iter().zip(run.calls()) {
        hold(answer.call_id == call.id.as_str(), "I5: answers in another order")?;
        let denies = answer.content.iter().any(|part| part.as_text().is_some_and(|text| text.contains("did not run")));
        hold(!(denies && call.may_have_run()), "I6: told that it did not run")?;
    }
    Ok(())
}

/// I11.
fn bounded(run: &Run) -> Result<(), String> {
    let limits = &run.options().limits;
    let count = |stage| run.current_calls().iter().filter(|call| call.stage() == stage).count();
    hold(count(Stage::Running) <= limits.in_flight as usize, "I11: too many in flight")?;
    // A person is asked about lost calls, even above the limit.
    hold(count(Stage::Open) <= (limits.open + limits.in_flight) as usize, "I11: too many open")?;
    hold(run.queue().len() <= limits.open as usize, "I11: too many prompts wait")?;
    hold(run.steps() <= limits.steps, "I11: too many steps")?;
    for call in run.calls() {
        hold(call.arguments().text.len() <= limits.argument_bytes, "I11: arguments too large")?;
        hold(call.answers().len() + call.steps().len() <= limits.records as usize, "I11: too many records")?;
    }
    Ok(())
}

/// I9: if nothing runs and nothing is being checked, the run waits for a decision.
fn goes_on(run: &Run) -> Result<(), String> {
    if !matches!(run.phase(), Phase::Acting | Phase::Suspended) {
        return Ok(());
    }
    let at = |stage| run.current_calls().iter().any(|call| call.stage() == stage);
    let moves = at(Stage::Running) || at(Stage::Proposed) || at(Stage::Ready);
    hold(moves || at(Stage::Open), "I9: nothing will come")?;
    hold(!at(Stage::Unknown), "I9: lost, and nobody is asked")?;
    let is_moving = at(Stage::Running) || at(Stage::Proposed);
    hold(run.phase() != Phase::Suspended || !is_moving, "I9: the run is suspended while a call runs or is checked")
}
