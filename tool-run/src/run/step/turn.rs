//! The model's turn: calls that are complete early, and the end of it.

use std::sync::Arc;

use super::Draft;
use crate::message::{AssistantPart, FinishReason, ToolCall, Usage};
use crate::run::fold::as_u32;
use crate::run::state::{Activity, TurnEnd};
use crate::run::{Action, CallId, CallResult, InterruptedBy, LogEvent, Refusal, Stage, Time, TurnPart};

impl Draft<'_> {
    pub fn offered(&mut self, tools: Vec<String>) -> Result<(), Refusal> {
        self.is_asked()?;
        if !self.run.current().is_empty() {
            return Err(Refusal::Misplaced { reason: "what is on offer is told before the first call" });
        }
        self.log.push(LogEvent::Offered { tools });
        Ok(())
    }

    pub fn called(&mut self, index: u32, provider_id: String, name: String, arguments: String) -> Result<(), Refusal> {
        self.is_asked()?;
        let known = as_u32(self.run.current().len());
        if index < known {
            return Err(Refusal::Misplaced { reason: "calls are told in order, each once" });
        }
        if index > known || !self.run.offers(&name) || self.over_budget(index, &arguments).is_some() {
            // Told with the rest of the turn.
            return Ok(());
        }
        let call = self.log_call(ToolCall { id: provider_id, name, arguments });
        self.effects.push(Action::Inspect(call));
        Ok(())
    }

    pub fn turn_ended(
        &mut self,
        parts: Vec<AssistantPart>,
        finish: FinishReason,
        usage: Usage,
        model: Option<Arc<str>>,
        at: Time,
    ) -> Result<(), Refusal> {
        self.is_asked()?;
        let cut = interruption(&finish);
        let known = self.run.current();
        let mut logged = Vec::with_capacity(parts.len());
        let (mut ended, mut kept) = (Vec::new(), Vec::new());
        let mut index = 0;
        for part in parts {
            let AssistantPart::Call(call) = part else {
                logged.push(TurnPart::Said(part));
                continue;
            };
            let id = match known.get(index) {
                Some(early) if is_same(early, &call) => early.id.clone(),
                Some(_) => return Err(Refusal::Misplaced { reason: "a call that was told early came differently" }),
                None => {
                    let refused = self.refused(as_u32(index), &call);
                    let id = self.log_call(call);
                    match (refused, cut) {
                        (Some(result), _) => ended.push((id.clone(), result)),
                        (None, Some(by)) => ended.push((id.clone(), CallResult::Interrupted { by })),
                        (None, None) => kept.push(id.clone()),
                    }
                    id
                }
            };
            index += 1;
            logged.push(TurnPart::Call { call: id });
        }
        if index < known.len() {
            return Err(Refusal::Misplaced { reason: "a call that was told early is missing" });
        }
        self.turn_end = Some(TurnEnd::of(finish.clone()));
        self.log.push(LogEvent::TurnEnded { parts: logged, finish, usage, model, at });
        self.new_calls = ended.len() + kept.len();
        self.new_done = ended.len();
        let end = |(call, result)| LogEvent::Ended { call, result: Arc::new(result), at };
        self.log.extend(ended.into_iter().map(end));
        if let Some(by) = cut {
            self.interrupt(by, at);
        }
        let early = self.run.current_range().filter(|at| self.stage(*at) == Stage::Proposed);
        let early: Vec<CallId> = early.map(|at| self.call(at).id.clone()).collect();
        self.effects.extend(early.into_iter().chain(kept).map(Action::Inspect));
        self.schedule(at);
        Ok(())
    }

    pub fn turn_failed(
        &mut self,
        error: String,
        again: bool,
        usage: Usage,
        model: Option<Arc<str>>,
        at: Time,
    ) -> Result<(), Refusal> {
        self.is_asked()?;
        // Calls and turns are tried again out of one purse.
        let again = again && self.run.retries < self.run.options.limits.retries;
        self.log.push(LogEvent::TurnFailed { error: error.clone(), again, usage, model, at });
        self.turn_end = Some(if again { TurnEnd::Again } else { TurnEnd::Failed(error) });
        self.interrupt(InterruptedBy::UnfinishedTurn, at);
        self.schedule(at);
        Ok(())
    }

    /// Fails where the model is not asked.
    fn is_asked(&self) -> Result<(), Refusal> {
        if self.run.activity == Activity::Generating {
            return Ok(());
        }
        Err(Refusal::Misplaced { reason: "the model was not asked" })
    }

    /// Ends the calls that have not started.
    pub fn interrupt(&mut self, by: InterruptedBy, time: Time) {
        self.end_at(&[Stage::Proposed, Stage::Ready, Stage::Open], &CallResult::Interrupted { by }, time);
    }

    fn log_call(&mut self, called: ToolCall) -> CallId {
        let ToolCall { id: provider_id, name, mut arguments } = called;
        if arguments.len() > self.run.options.limits.argument_bytes {
            // It is answered, so it is kept, but not what was too large of it.
            arguments.clear();
        }
        let call = self.run.mint(&provider_id, &self.minted);
        self.minted.insert(call.clone());
        self.log.push(LogEvent::Called { call: call.clone(), provider_id, name, arguments: arguments.into() });
        call
    }

    /// Returns how the call number `index` of this turn ends without anybody looking at it.
    fn refused(&self, index: u32, call: &ToolCall) -> Option<CallResult> {
        if !self.run.offers(&call.name) {
            return Some(CallResult::NotAvailable { suggestion: None });
        }
        Some(CallResult::OverBudget { limit: self.over_budget(index, &call.arguments)? })
    }

    /// Returns which limit the call number `index` of this turn is over.
    fn over_budget(&self, index: u32, arguments: &str) -> Option<String> {
        let limits = &self.run.options.limits;
        if index >= limits.calls_per_turn {
            return Some(format!("at most {} calls are run in one turn", limits.calls_per_turn));
        }
        if self.run.calls_before().saturating_add(index) >= limits.calls {
            return Some(format!("at most {} calls are made in one run", limits.calls));
        }
        self.too_large(arguments)
    }

    /// Returns which limit on the arguments of one call these are over.
    pub fn too_large(&self, arguments: &str) -> Option<String> {
        self.run.options.limits.too_large(arguments)
    }
}

/// Returns how calls of a turn end that came to this end; `None` where they may run.
fn interruption(finish: &FinishReason) -> Option<InterruptedBy> {
    match finish {
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Paused => None,
        FinishReason::Length => Some(InterruptedBy::Length),
        FinishReason::ContentFilter => Some(InterruptedBy::ContentFilter),
        FinishReason::Other(_) => Some(InterruptedBy::UnfinishedTurn),
    }
}

fn is_same(early: &crate::run::Call, call: &ToolCall) -> bool {
    early.provider_id == call.id && early.name == call.name && *early.arguments.text == *call.arguments
}
