//! Prompts and turns: how they begin and end.

use std::sync::Arc;

use super::{Applied, as_u32};
use crate::message::{AssistantPart, FinishReason, Message, Usage};
use crate::run::call::ArgsRev;
use crate::run::state::{Activity, STAGES, TurnEnd};
use crate::run::{Call, CallId, CallState, Prompt, Run, Stage, StopReason, TurnPart};

impl Run {
    pub(super) fn prompted(&mut self, prompt: Prompt, queued: bool) -> Applied {
        if queued && self.queue.first() != Some(&prompt) {
            return Err("a prompt is taken that is not the first that waits".to_owned());
        }
        self.is_settled()?;
        if queued {
            self.queue.remove(0);
        }
        self.until = prompt.until;
        self.steps = 0;
        self.usage = Usage::default();
        self.activity = Activity::Prompted;
        self.first = as_u32(self.calls.len());
        self.passed = self.first;
        self.stages = [0; STAGES];
        self.say(Message::User { content: prompt.content });
        Ok(())
    }

    pub(super) fn turn_started(&mut self) -> Applied {
        self.is_settled()?;
        if matches!(self.activity, Activity::Idle | Activity::Finished) {
            return Err("a turn starts, and nobody prompted".to_owned());
        }
        if matches!(self.activity, Activity::Stopped(_)) {
            // Somebody wants it to go on: as with a prompt, it has all its steps again.
            self.steps = 0;
        }
        self.activity = Activity::Generating;
        self.turn = self.turn.saturating_add(1);
        self.steps = self.steps.saturating_add(1);
        self.first = as_u32(self.calls.len());
        self.passed = self.first;
        self.stages = [0; STAGES];
        Ok(())
    }

    pub(super) fn called(&mut self, id: CallId, provider_id: String, name: String, arguments: Arc<str>) -> Applied {
        if self.activity != Activity::Generating {
            return Err(format!("{id} was called when the model was not asked"));
        }
        let at = as_u32(self.calls.len());
        if self.index.insert(id.clone(), at).is_some() {
            return Err(format!("two calls have the id {id}"));
        }
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
            arguments: ArgsRev::new(arguments, None),
            past: None,
        });
        self.stages[Stage::Proposed as usize] += 1;
        Ok(())
    }

    pub(super) fn turn_ended(&mut self, parts: Vec<TurnPart>, finish: FinishReason, usage: Usage) -> Applied {
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
        let content = parts.into_iter().map(|part| match part {
            TurnPart::Said(part) => part,
            TurnPart::Call { call } => self.as_message(&call),
        });
        let content: Vec<AssistantPart> = content.collect();
        self.usage += usage;
        if !content.is_empty() {
            self.say(Message::Assistant { content });
        }
        self.activity = Activity::Acting(if finish.is_safe() { TurnEnd::Safe } else { TurnEnd::Cut(finish) });
        self.answer_if_done();
        Ok(())
    }

    pub(super) fn turn_failed(&mut self, error: String, again: bool) -> Applied {
        if !matches!(self.activity, Activity::Generating | Activity::Prompted) {
            return Err("a turn failed that was not started".to_owned());
        }
        let content: Vec<_> = self.current().iter().map(|call| self.as_message(&call.id)).collect();
        if !content.is_empty() {
            self.say(Message::Assistant { content });
        }
        self.activity = Activity::Acting(if again { TurnEnd::Again } else { TurnEnd::Failed(error) });
        self.answer_if_done();
        Ok(())
    }

    pub(super) fn stop(&mut self, activity: Activity) -> Applied {
        self.is_settled()?;
        if !matches!(self.activity, Activity::Acting(_)) {
            return Err("it comes to an end, and nothing was going on".to_owned());
        }
        if activity == Activity::Stopped(StopReason::Cancelled) {
            self.queue.clear();
        }
        self.activity = activity;
        Ok(())
    }
}
