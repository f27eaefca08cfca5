//! Turns that end early: their text, and their failure.

use std::sync::Arc;

use crate::message::{AssistantPart, Message, Usage};
use crate::run::{
    Run,
    fold::Applied,
    messages::to_message,
    state::{Activity, TurnEnd},
};

impl Run {
    pub(super) fn fail_turn(&mut self, error: String, again: bool, usage: Usage, model: Option<Arc<str>>) -> Applied {
        if !matches!(self.activity, Activity::Generating | Activity::Prompted) {
            return Err("a turn failed without a start".to_owned());
        }
        // The text of a turn that is repeated is void.
        self.cut_text.take_if(|_| again);
        let written = self.cut_text.iter().map(|text| text_part(text));
        let content: Vec<_> = written.chain(self.current_calls().iter().map(to_message)).collect();
        if !content.is_empty() {
            self.add_message(Message::Assistant { content });
        }
        if again {
            self.retries = self.retries.saturating_add(1);
            if self.current_calls().is_empty() {
                // A failed turn without calls does not count: the next turn is the same step.
                self.steps = self.steps.saturating_sub(1);
            }
        }
        self.add_usage(usage, model);
        self.activity = Activity::Acting(if again { TurnEnd::Again } else { TurnEnd::Failed(error) });
        self.answer_if_done();
        Ok(())
    }

    /// Keeps the text of a turn that ends early. If the turn has ended, the text comes before its calls.
    pub(super) fn keep_text(&mut self, text: &Arc<str>) -> Applied {
        match &self.activity {
            _ if text.is_empty() => return Err("the text of a turn is empty".to_owned()),
            Activity::Generating => {}
            Activity::Stopped(_) if self.cut_text.is_none() => self.add_cut_text(text),
            _ => return Err("a text is of no turn that ended early".to_owned()),
        }
        self.cut_text = Some(Arc::clone(text));
        Ok(())
    }

    fn add_cut_text(&mut self, text: &str) {
        let first = self.current_calls().first().map(|call| call.id.to_string());
        let is_first =
            |part: &AssistantPart| matches!(part, AssistantPart::Call(call) if Some(&call.id) == first.as_ref());
        let of_turn = self.messages.iter_mut().rev().find_map(|message| match message {
            Message::Assistant { content } if content.iter().any(is_first) => Some(content),
            _ => None,
        });
        match of_turn {
            Some(content) => {
                content.insert(0, text_part(text));
                self.bytes = self.bytes.saturating_add(text.len() as u64);
            }
            None => self.add_message(Message::Assistant { content: vec![text_part(text)] }),
        }
    }
}

fn text_part(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.to_owned() }
}
