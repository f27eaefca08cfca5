//! The model's turn, as it comes.

use std::sync::Arc;

use serde::de::IgnoredAny;
use tokio::time::Instant;

use super::{
    Asking, Driver,
    ask::{self, Ask, Heard, Planned},
    asking::Begun,
    onward::Attempts,
    tell::tell,
};
use crate::agent::{Event as Told, SoFar, knobs::Known, so_far::View};
use crate::message::{AssistantPart, Usage};
use crate::model::{Delta, FinishReason, ModelError, ModelErrorKind, ToolChoice, Turn};
use crate::run::{Event, Minted};
use crate::tool::Failure;

/// How many calls a turn can have. Few of them run ([`Limits`](crate::run::Limits)), but each is answered.
const MOST_CALLS: usize = 1 << 16;

impl Driver<'_> {
    pub(super) fn ask_model(&mut self) {
        if self.asking.is_some() {
            // Two entries can want it, of which somebody else wrote one.
            return;
        }
        self.failure = None;
        // Not when the turn's start was logged: who decided last may have done that, elsewhere.
        self.tell(Told::StepStarted { step: self.kept.run.steps() as usize });
        if self.attempts.failures == 0 {
            self.restart_step_clock();
        }
        let messages = self.share_conversation();
        if let Some(call) = self.given.take() {
            let (finish, id) = (FinishReason::ToolCalls, self.kept.run.mint(&call.id, &Minted::default()));
            self.tell(Told::CallAnnounced { id: &id, name: &call.name });
            self.tell(Told::StepFinished { reason: &finish, usage: Usage::default() });
            let (parts, usage, at) = (vec![AssistantPart::Call(call)], Usage::default(), self.now());
            return self.feed_late(Event::TurnEnded { parts, finish, usage, model: None, at });
        }
        let tools = self.inspector.tools().clone();
        let (agent, run) = (&self.agent, &self.kept.run);
        let knobs = &agent.knobs;
        let until = run.until().map(|(name, _)| name.to_owned());
        let active = knobs.active.as_deref();
        let list = self
            .list
            .get_or_insert_with(|| ask::listed(&tools, active, &knobs.order, until.as_deref(), &knobs.provided));
        let known = knobs.prepare.is_some().then(|| Known {
            number: run.steps() as usize,
            failures: self.attempts.failures,
            messages: Arc::clone(&messages),
            usage: run.usage(),
            turns: run.turns().to_vec(),
            taint: run.taint().to_vec(),
            settings: agent.settings.clone(),
        });
        let (list, agent) = (list.clone(), agent.clone());
        let Attempts { model, wait, .. } = self.attempts;
        let ask = Ask { agent, model, wait, messages, tools, list, until, known };
        self.asking = Some(Asking::new(Box::new(ask)));
    }

    /// The model said more, or its turn broke off.
    pub(super) fn heard(&mut self, heard: Option<Heard>) {
        let cut = || ModelError::new(ModelErrorKind::Protocol, "the model's answer was cut off before its end");
        match heard {
            Some(Heard::Planned(planned)) => self.planned(planned),
            Some(Heard::Unprepared(failure)) => self.unprepared(&failure),
            Some(Heard::Said(Ok(delta))) => {
                if let Some(asking) = &mut self.asking {
                    asking.piece = self.agent.knobs.timeouts.chunk.map(|limit| Instant::now() + limit);
                }
                self.said(delta);
            }
            Some(Heard::Said(Err(error))) => self.model_failed(error),
            None => self.model_failed(cut()),
        }
    }

    /// The model is asked now.
    fn planned(&mut self, planned: Planned) {
        let failures = self.attempts.failures;
        self.tell(Told::ModelAsked { model: &planned.model, failures });
        let names = || self.inspector.tools().names().map(str::to_owned).collect();
        // A process that is gone may have offered fewer.
        let is_narrow = self.inspector.tools().names().any(|name| !self.kept.run.offers(name));
        if let Some(tools) = planned.offered.clone().or_else(|| is_narrow.then(names)) {
            self.feed_late(Event::Offered { tools });
        }
        let (timeouts, now) = (self.agent.knobs.timeouts, Instant::now());
        if let Some(asking) = &mut self.asking {
            asking.end = timeouts.model.map(|limit| now + limit);
            asking.piece = timeouts.first_chunk.map(|limit| now + limit);
            asking.planned = Some(planned);
        }
    }

    /// Leaves a model alone that is too slow.
    pub(super) fn end_slow_model(&mut self) {
        let (timeouts, now) = (self.agent.knobs.timeouts, Instant::now());
        let Some(asking) = &self.asking else { return };
        let is_over = |end: Option<Instant>| end.is_some_and(|end| end <= now);
        let begun = !asking.turn.content.is_empty() || asking.turn.usage != Usage::default();
        let (what, limit) = match () {
            () if is_over(asking.end) => ("did not finish its answer", timeouts.model),
            () if is_over(asking.piece) && begun => ("did not go on with its answer", timeouts.chunk),
            () if is_over(asking.piece) => ("did not begin its answer", timeouts.first_chunk),
            () => return,
        };
        let seconds = limit.unwrap_or_default().as_secs_f64();
        let message = format!("the model {what} within {seconds} s");
        self.model_failed(ModelError::new(ModelErrorKind::Unavailable, message));
    }

    fn said(&mut self, delta: Delta) {
        let Some(asking) = &mut self.asking else { return };
        asking.bytes = asking.bytes.saturating_add(bytes(&delta));
        if asking.bytes > self.kept.run.options().limits.bytes || asking.calls.len() >= MOST_CALLS {
            // More than the run can hold: cut here, as by the provider's own limit.
            return self.finished(FinishReason::Length);
        }
        let front = &*self.agent.front;
        match delta {
            Delta::CallStart { .. } => self.begins(delta),
            Delta::CallArguments { index, text } => self.arguments(index, text),
            Delta::CallEnd { index } => {
                if let Some(call) = asking.turn.number_of(index).and_then(|number| asking.calls.get_mut(number)) {
                    call.is_complete = true;
                }
            }
            Delta::Finish(reason) => return self.finished(reason),
            delta => {
                match &delta {
                    Delta::Text(text) => tell(front, Told::Text(text)),
                    Delta::Reasoning(text) => tell(front, Told::Reasoning(text)),
                    Delta::Provider(part) => tell(front, Told::Provided(part)),
                    _ => {}
                }
                asking.turn.push(delta);
            }
        }
        self.tell_early();
    }

    /// The model begins a call.
    fn begins(&mut self, delta: Delta) {
        let (Delta::CallStart { id, name, .. }, Some(asking)) = (&delta, &self.asking) else { return };
        let id = self.kept.run.mint(id, &asking.untold);
        self.tell(Told::CallAnnounced { id: &id, name });
        let watched = self.watched(name, &id);
        let Some(asking) = &mut self.asking else { return };
        asking.inputs.start(asking.calls.len(), watched);
        asking.untold.insert(id.clone());
        asking.calls.push(Begun { id, is_complete: false, view: View::default() });
        asking.turn.push(delta);
    }

    /// More of a call's arguments.
    fn arguments(&mut self, index: usize, text: String) {
        let Some(Asking { turn, calls, inputs, .. }) = &mut self.asking else { return };
        let (Some(number), Some(said)) = (turn.number_of(index), turn.call_at(index)) else { return };
        let (call, before) = (&calls[number], said.arguments.len());
        if text.is_empty() || call.is_complete || is_repeated(&said.arguments, &text) {
            return;
        }
        turn.push(Delta::CallArguments { index, text });
        let said = turn.call_at(index).map_or("", |call| &call.arguments);
        let (text, so_far) = (&said[before..], SoFar::new(said, &call.view));
        tell(&*self.agent.front, Told::CallArguments { id: &call.id, text, so_far });
        inputs.delta(number, text);
    }

    /// Tells the run of calls that are complete and may be early, in order: one that may not holds back those behind it.
    fn tell_early(&mut self) {
        loop {
            let Some(asking) = &mut self.asking else { return };
            let number = asking.told;
            if !asking.calls.get(number).is_some_and(|call| call.is_complete) {
                return;
            }
            let Some(call) = asking.turn.calls().nth(number) else { return };
            if !self.inspector.tool(&call.name).is_some_and(|tool| tool.may_be_early()) {
                return;
            }
            let call = call.clone();
            let index = u32::try_from(number).unwrap_or(u32::MAX);
            let before = self.kept.run.current().len();
            self.feed_late(Event::Called { index, provider_id: call.id, name: call.name, arguments: call.arguments });
            if self.kept.run.current().len() == before {
                return;
            }
            if let Some(asking) = &mut self.asking {
                asking.untold.remove(&asking.calls[number].id);
                asking.told += 1;
            }
        }
    }

    fn finished(&mut self, finish: FinishReason) {
        let Some(Asking { turn, planned, .. }) = self.asking.take() else { return };
        self.succeeded();
        self.tell(Told::StepFinished { reason: &finish, usage: turn.usage });
        let model = planned.map(|planned| {
            let obeys = match &planned.choice {
                ToolChoice::Required => turn.calls().next().is_some(),
                ToolChoice::Tool(name) => turn.calls().any(|call| call.name == *name),
                _ => true,
            };
            if !obeys && finish.is_safe() {
                self.tell(Told::ChoiceIgnored(&planned.choice));
            }
            planned.model
        });
        let Turn { content: parts, usage, .. } = turn;
        self.feed_late(Event::TurnEnded { parts, finish, usage, model, at: self.now() });
    }

    fn model_failed(&mut self, error: ModelError) {
        let again = self.again(&error);
        self.turn_failed(error, again);
    }

    /// The model is not asked with what the agent does not want it asked with.
    fn unprepared(&mut self, failure: &Failure) {
        let message = format!("the step could not be prepared: {}", failure.for_log());
        self.turn_failed(ModelError::new(ModelErrorKind::Configuration, message), false);
    }

    fn turn_failed(&mut self, error: ModelError, again: bool) {
        let Some(Asking { turn, planned, .. }) = self.asking.take() else { return };
        let (message, model) = (error.to_string(), planned.map(|planned| planned.model));
        self.failure = Some(error);
        self.feed_late(Event::TurnFailed { error: message, again, usage: turn.usage, model, at: self.now() });
    }
}

/// Whether a piece says again all that was said before, which was whole: some providers end so.
fn is_repeated(said: &str, piece: &str) -> bool {
    said == piece && said.trim_ascii().ends_with('}') && serde_json::from_str::<IgnoredAny>(said).is_ok()
}

/// How much of what a run can hold a delta takes.
fn bytes(delta: &Delta) -> u64 {
    let length = match delta {
        Delta::Text(text)
        | Delta::Reasoning(text)
        | Delta::ReasoningSignature(text)
        | Delta::CallArguments { text, .. } => text.len(),
        Delta::CallStart { id, name, .. } => id.len() + name.len(),
        Delta::Provider(part) => part.block.len(),
        Delta::CallEnd { .. } | Delta::Usage(_) | Delta::Finish(_) => 0,
    };
    length as u64
}
