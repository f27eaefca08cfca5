//! Changes of the conversation that are no turns: messages of the application, and the summary of its beginning.

use std::sync::Arc;

use crate::message::{AssistantPart, Message, Part};
use crate::run::{
    Call, CallId, CallResult, Handover, LogEntry, Principal, Run, Summary, fold::Applied, state::Activity,
};

impl Run {
    /// Returns the summary that takes the place of the beginning of the conversation, for the model. The run keeps all messages.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// Applies an entry that changes the conversation, or the answer that is wanted, without a turn.
    pub(super) fn apply_change(&mut self, entry: &LogEntry) -> Applied {
        match entry {
            LogEntry::MessageAdded { message, by, .. } => self.add_from_application(message, by),
            LogEntry::HandedOver { to, call, by, .. } => self.hand_over(to.as_ref(), call.as_ref(), by),
            LogEntry::Summarized { summary, usage, model, .. } => {
                self.summarize(summary)?;
                self.add_usage(*usage, model.clone());
                Ok(())
            }
            LogEntry::SummaryFailed { .. } if self.activity != Activity::Generating => {
                Err("a summary failed outside of a model's turn".to_owned())
            }
            LogEntry::AnswerWanted { .. } if !matches!(self.activity, Activity::Idle | Activity::Stopped(_)) => {
                Err("another answer is wanted, but the run does not continue".to_owned())
            }
            LogEntry::AnswerWanted { final_tools, answer_schema } => {
                (self.final_tools, self.answer) = (final_tools.clone(), answer_schema.clone());
                self.from_outside = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Adds a message of the application.
    fn add_from_application(&mut self, message: &Message, by: &Principal) -> Applied {
        if !self.is_owner(by) {
            return Err(format!("{by} added a message to the run, but does not own it"));
        }
        if !matches!(self.activity, Activity::Idle | Activity::Finished | Activity::Stopped(_)) {
            return Err("a message was added while the run is active".to_owned());
        }
        if !may_be_added(message) {
            return Err("a message was added that has calls or results".to_owned());
        }
        self.add_message(message.clone());
        Ok(())
    }

    /// Returns the name of the agent that acts in the run; `None` if it is the run's own. Its instructions, model and tools hold for
    /// the next turn.
    pub fn acting_agent(&self) -> Option<&str> {
        self.acting_agent.as_deref()
    }

    fn hand_over(&mut self, to: Option<&Arc<str>>, call: Option<&CallId>, by: &Principal) -> Applied {
        if !self.is_owner(by) {
            return Err(format!("{by} handed the run over, but does not own it"));
        }
        let is_allowed = match call {
            Some(id) => {
                let is_call = |call: &&mut Call| call.id == *id;
                let of_turn = self.calls[self.first_of_turn as usize..].iter_mut().find(is_call);
                let ended = of_turn.filter(|call| call.result().is_some_and(CallResult::is_success));
                ended.map(|call| call.history_mut().handover = Some(Box::new(Handover { to: to.cloned() }))).is_some()
            }
            None => matches!(self.activity, Activity::Idle | Activity::Finished | Activity::Stopped(_)),
        };
        if !is_allowed {
            return Err("the run was handed over while it was busy, or by a call that has not succeeded".to_owned());
        }
        self.acting_agent = to.cloned();
        Ok(())
    }

    fn summarize(&mut self, summary: &Summary) -> Applied {
        if self.activity != Activity::Generating {
            return Err("the conversation was summarized outside of a model's turn".to_owned());
        }
        self.check_summary(summary)?;
        self.summary = Some(summary.clone());
        Ok(())
    }

    /// Checks that a summary takes the place of more messages than the one before it, and separates no call from its result.
    pub(super) fn check_summary(&self, summary: &Summary) -> Applied {
        let before = self.summary.as_ref().map_or(0, |summary| summary.messages);
        if summary.messages <= before || summary.messages as usize > self.messages.len() {
            return Err("the summary is of other messages than those of the run".to_owned());
        }
        match self.messages.get(summary.messages as usize) {
            Some(Message::Tool(_)) => Err("the summary separates a call from its result".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Returns whether an application may add a message: one of a person, or a text of the assistant.
pub fn may_be_added(message: &Message) -> bool {
    match message {
        Message::User { content } => !content.iter().all(Part::is_blank),
        Message::Assistant { content } => {
            let is_text =
                |part: &AssistantPart| matches!(part, AssistantPart::Text { text } if !text.trim().is_empty());
            !content.is_empty() && content.iter().all(is_text)
        }
        Message::System { .. } | Message::Tool(_) => false,
    }
}
