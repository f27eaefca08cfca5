//! The invariants of any run, checked from its log alone.

use std::{collections::HashMap, sync::Arc};

use tool_run::message::Message;
use tool_run::run::Digest;
use tool_run::run::{
    Action, CallId, CallResult, Decision, GrantedBy, InterruptId, InterruptKind, LogEvent, Phase, Run, Stage,
};
use tool_run::tool::{Fingerprint, Resources};

/// The log's entries about one call so far.
#[derive(Default)]
struct Told {
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
    calls: HashMap<CallId, Told>,
    decided: HashMap<InterruptId, Decision>,
    /// The tools on offer in the turn, if the log names them.
    offered: Option<Vec<String>>,
}

fn hold(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

impl Judge {
    pub(super) fn started(&self) -> usize {
        self.calls.values().filter(|told| told.starts > 0).count()
    }

    pub(super) fn judge(
        &mut self,
        before: &Run,
        events: &[LogEvent],
        effects: &[Action],
        after: &Run,
    ) -> Result<(), String> {
        for event in events {
            self.alone(event, after)?;
            self.logged(event)?;
        }
        for effect in effects {
            match effect {
                Action::Execute { call, attempt } => {
                    let started = |event: &LogEvent| matches!(event, LogEvent::Started { call: id, .. } if id == call);
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

    fn logged(&mut self, event: &LogEvent) -> Result<(), String> {
        match event {
            LogEvent::Offered { tools } => self.offered = Some(tools.clone()),
            LogEvent::Called { call, name, arguments, .. } => {
                let is_hidden = self.offered.as_ref().is_some_and(|offered| !offered.contains(name));
                let arguments = Some(Digest::of(arguments.as_bytes()));
                let told = Told { arguments, is_hidden, ..Told::default() };
                hold(self.calls.insert(call.clone(), told).is_none(), "I5: two calls with one id")?;
            }
            LogEvent::Checked { call, tool, touches, .. } => {
                let told = self.told(call);
                told.touches.clone_from(touches);
                told.tool = Some(tool.fingerprint);
                (told.is_repeatable, told.is_resumable) = (tool.is_repeatable(), tool.resumable);
                told.is_external = tool.external;
            }
            // The call is checked anew, so earlier grants are void.
            LogEvent::Migrated { call, .. } => self.told(call).tool = None,
            LogEvent::Repaired { call, arguments, .. } => {
                let told = self.told(call);
                hold(told.tool.is_none(), "I1: repaired when it was judged")?;
                told.arguments = Some(Digest::of(arguments.as_bytes()));
            }
            LogEvent::Edited { call, arguments, touches, .. } => {
                self.told(call).touches.clone_from(touches);
                self.told(call).arguments = Some(Digest::of(arguments.as_bytes()));
            }
            LogEvent::Decided { interrupt, decision, .. } => {
                let told = self.told(interrupt.call());
                told.denied |= matches!(decision, Decision::Deny { .. } | Decision::Respond { .. });
                let first = self.decided.insert(interrupt.clone(), decision.clone()).is_none();
                hold(first, "I7: decided twice")?;
            }
            LogEvent::Answered { call, .. } => self.told(call).denied = false,
            LogEvent::Granted { call, tool, arguments, by, .. } => {
                let told = self.told(call);
                hold(!told.ended && !told.denied, "I2: granted after the end, or after a denial")?;
                hold(!told.is_hidden, "S12: granted, and was not on offer")?;
                let may_rerun = told.is_repeatable || told.is_resumable && told.steps.is_empty();
                hold(*by != GrantedBy::Rerun || may_rerun, "I3: started again, and is not repeatable")?;
                if std::mem::take(&mut told.is_lost) {
                    told.steps.clear();
                }
                told.consents += 1;
                told.grant = Some((*tool, *arguments));
            }
            LogEvent::Opened { call, interrupt } => {
                let told = self.told(call);
                hold(!told.ended, "I4: opened after the end")?;
                let grant = told.grant.take();
                told.is_lost = interrupt.kind == InterruptKind::Reconcile;
                if interrupt.kind == InterruptKind::External {
                    told.begun = true;
                    hold(grant == told.tool.zip(told.arguments), "I1: handed out without a grant for it")?;
                }
            }
            LogEvent::Stepping { call, name } => self.told(call).steps.push(name.clone()),
            LogEvent::Stepped { call, name, .. } => {
                let steps = &mut self.told(call).steps;
                let begun = steps.iter().position(|begun| begun == name);
                begun.map(|at| steps.remove(at));
            }
            LogEvent::Started { call, .. } => {
                let told = self.told(call);
                hold(!told.ended && !told.is_external, "I2: started after the end, or here and is external")?;
                let grant = told.grant.take();
                hold(grant.is_some() && grant == told.tool.zip(told.arguments), "I1: started without a grant for it")?;
                told.starts += 1;
                told.begun = true;
                hold(told.starts <= told.consents, "I3: more starts than grants")?;
            }
            LogEvent::Ended { call, result, .. } => {
                let told = self.told(call);
                hold(!told.ended, "I4: ended twice")?;
                told.ended = true;
                let is_never = matches!(**result, CallResult::Denied { .. } | CallResult::Responded { .. });
                hold(!(is_never && told.starts > 0), "I6: denied after a start")?;
            }
            LogEvent::TurnStarted { .. } => {
                self.offered = None;
                hold(self.calls.values().all(|told| told.ended), "I5: the model is asked, and a call is unanswered")?;
            }
            _ => {}
        }
        Ok(())
    }

    /// I12.
    fn alone(&self, event: &LogEvent, run: &Run) -> Result<(), String> {
        let call = match event {
            LogEvent::Started { call, .. } => call,
            LogEvent::Opened { call, interrupt } if interrupt.kind == InterruptKind::External => call,
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

    fn told(&mut self, call: &CallId) -> &mut Told {
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
    let is_open = run.current().iter().any(|call| call.result().is_none()) || run.phase() == Phase::Generating;
    let expected = if is_open { run.calls().len() - run.current().len() } else { run.calls().len() };
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
    let count = |stage| run.current().iter().filter(|call| call.stage() == stage).count();
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
    let at = |stage| run.current().iter().any(|call| call.stage() == stage);
    let moves = at(Stage::Running) || at(Stage::Proposed) || at(Stage::Ready);
    hold(moves || at(Stage::Open), "I9: nothing will come")?;
    hold(!at(Stage::Unknown), "I9: lost, and nobody is asked")?;
    hold(run.phase() != Phase::Suspended || !(at(Stage::Running) || at(Stage::Proposed)), "I9: is not suspended")
}
