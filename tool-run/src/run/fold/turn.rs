//! Prompts and turns: how they begin and end.

use std::{collections::hash_map::Entry, sync::Arc};

use super::{Applied, as_u32};
use crate::message::{AssistantPart, FinishReason, Message, Usage};
use crate::run::past::ArgumentRevision;
use crate::run::state::{Activity, STAGES, TurnEnd};
use crate::run::{
    Author, Call, CallId, CallState, Principal, Prompt, Run, Said, Stage, StopReason, TurnPart, TurnUsage,
};

impl Run {
    pub(super) fn prompted(&mut self, prompt: Prompt, queued: bool) -> Applied {
        let first = self.queue.iter().position(|waits| waits.steers == prompt.steers);
        let place = first.filter(|at| queued && self.queue[*at] == prompt);
        if queued && place.is_none() {
            return Err("a prompt is taken that is not the first that waits".to_owned());
        }
        self.is_settled()?;
        if let Some(at) = place {
            self.queue.remove(at);
        }
        let joins = prompt.steers && matches!(self.activity, Activity::Acting(_) | Activity::Prompted);
        if !joins {
            self.until = prompt.until;
            self.answer = prompt.answer;
            self.usage = Usage::default();
            self.restart();
        }
        for tool in prompt.taint {
            if !self.taint.contains(&tool) {
                self.taint.push(tool);
            }
        }
        self.activity = Activity::Prompted;
        self.first = as_u32(self.calls.len());
        self.passed = self.first;
        self.stages = [0; STAGES];
        self.prompts.push(Said { id: prompt.id, at: as_u32(self.messages.len()), steers: prompt.steers });
        self.say(Message::User { content: prompt.content });
        Ok(())
    }

    pub(super) fn branched(&mut self, prompts: Vec<Said>, taint: Vec<String>) -> Applied {
        if self.rev != 1 {
            return Err("it has begun, and comes from another".to_owned());
        }
        let is_prompt = |said: &Said| matches!(self.messages.get(said.at as usize), Some(Message::User { .. }));
        if !prompts.iter().all(is_prompt) {
            return Err("a prompt of the other run is not in the conversation".to_owned());
        }
        (self.prompts, self.taint) = (prompts, taint);
        Ok(())
    }

    pub(super) fn turn_started(&mut self) -> Applied {
        self.is_settled()?;
        let is_unasked = self.activity == Activity::Idle && self.messages.is_empty();
        if is_unasked || self.activity == Activity::Finished {
            return Err("a turn starts, and nobody prompted".to_owned());
        }
        if self.stopping && matches!(self.activity, Activity::Acting(_)) {
            return Err("a turn starts, and the run is to stop".to_owned());
        }
        if matches!(self.activity, Activity::Stopped(_)) {
            // Somebody wants it to go on: as with a prompt, it has all its steps again.
            self.restart();
        }
        self.offered = None;
        self.activity = Activity::Generating;
        self.turn = self.turn.saturating_add(1);
        self.steps = self.steps.saturating_add(1);
        self.first = as_u32(self.calls.len());
        self.passed = self.first;
        self.stages = [0; STAGES];
        Ok(())
    }

    fn restart(&mut self) {
        self.steps = 0;
        self.stopping = false;
        self.turns.clear();
    }

    pub(super) fn narrowed(&mut self, tools: Vec<String>) -> Applied {
        if self.activity != Activity::Generating || !self.current().is_empty() {
            return Err("what is on offer changes in the middle of a turn".to_owned());
        }
        self.offered = Some(tools);
        Ok(())
    }

    pub(super) fn called(&mut self, id: CallId, provider_id: String, name: String, arguments: Arc<str>) -> Applied {
        if self.activity != Activity::Generating {
            return Err(format!("{id} was called when the model was not asked"));
        }
        let at = as_u32(self.calls.len());
        match self.index.entry(id.clone()) {
            Entry::Occupied(_) => return Err(format!("two calls have the id {id}")),
            Entry::Vacant(place) => place.insert(at),
        };
        self.bytes = self.bytes.saturating_add(arguments.len() as u64);
        self.calls.push(Call {
            id,
            provider_id,
            turn: self.turn,
            index: at - self.first,
            name,
            tool: None,
            attempts: 0,
            retries: 0,
            state: CallState::Proposed,
            arguments: ArgumentRevision::new(arguments, Author::Model),
            touches: None,
            past: None,
        });
        self.stages[Stage::Proposed as usize] += 1;
        Ok(())
    }

    pub(super) fn turn_ended(
        &mut self,
        parts: &[TurnPart],
        finish: FinishReason,
        usage: Usage,
        model: Option<Arc<str>>,
    ) -> Applied {
        if self.activity != Activity::Generating {
            return Err("a turn ended that was not started".to_owned());
        }
        let expected = self.current().iter().map(|call| &call.id);
        let named = parts.iter().filter_map(|part| match part {
            TurnPart::Call { call } => Some(call),
            TurnPart::Said(_) => None,
        });
        if !expected.eq(named) {
            return Err("a turn ended with other calls than it made".to_owned());
        }
        let content = parts.iter().map(|part| match part {
            TurnPart::Said(part) => part.clone(),
            TurnPart::Call { call } => self.as_message(call),
        });
        let content: Vec<AssistantPart> = content.collect();
        self.used(usage, model);
        if !content.is_empty() {
            self.say(Message::Assistant { content });
        }
        self.activity = Activity::Acting(TurnEnd::of(finish));
        self.answer_if_done();
        Ok(())
    }

    pub(super) fn used(&mut self, usage: Usage, model: Option<Arc<str>>) {
        self.usage += usage;
        if model.is_some() || usage != Usage::default() {
            self.turns.push(TurnUsage { turn: self.turn, model, usage });
        }
    }

    pub(super) fn turn_failed(&mut self, error: String, again: bool, usage: Usage, model: Option<Arc<str>>) -> Applied {
        if !matches!(self.activity, Activity::Generating | Activity::Prompted) {
            return Err("a turn failed that was not started".to_owned());
        }
        let content: Vec<_> = self.current().iter().map(|call| self.as_message(&call.id)).collect();
        if !content.is_empty() {
            self.say(Message::Assistant { content });
        }
        if again {
            self.retries = self.retries.saturating_add(1);
            if self.current().is_empty() {
                // Nothing came of it: the next is the same step.
                self.steps = self.steps.saturating_sub(1);
            }
        }
        self.used(usage, model);
        self.activity = Activity::Acting(if again { TurnEnd::Again } else { TurnEnd::Failed(error) });
        self.answer_if_done();
        Ok(())
    }

    pub(super) fn stop_requested(&mut self, by: &Principal) -> Applied {
        if !self.is_owner(by) {
            return Err(format!("{by} wants to stop it, and may not"));
        }
        if !matches!(self.activity, Activity::Generating | Activity::Acting(_)) {
            return Err("it is to stop, and nothing is going on".to_owned());
        }
        self.stopping = true;
        Ok(())
    }

    pub(super) fn stop(&mut self, activity: Activity) -> Applied {
        self.is_settled()?;
        if !matches!(self.activity, Activity::Acting(_)) {
            return Err("it comes to an end, and nothing was going on".to_owned());
        }
        if matches!(activity, Activity::Stopped(StopReason::Cancelled | StopReason::Requested)) {
            self.queue.clear();
        }
        self.activity = activity;
        Ok(())
    }
}
