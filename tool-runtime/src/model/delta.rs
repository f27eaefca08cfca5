//! The pieces that a model streams back, and the turn that they add up to.

use serde::{Deserialize, Serialize};

use crate::message::{AssistantPart, FinishReason, ProviderPart, ToolCall, Usage};

/// One piece of a model's turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// More text for the person.
    Text(String),
    /// More of what the model thinks.
    Reasoning(String),
    /// The provider's seal over the reasoning so far.
    ReasoningSignature(String),
    /// A call begins. `index` tells parallel calls of one turn apart.
    CallStart {
        /// Which call of this turn.
        index: usize,
        /// The call's id.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of a call's argument text.
    CallArguments {
        /// Which call of this turn.
        index: usize,
        /// The next piece of the text; unescaped.
        text: String,
    },
    /// A call's argument text is complete.
    CallEnd {
        /// Which call of this turn.
        index: usize,
    },
    /// A call, or its result, of a tool that the provider executes.
    Provider(ProviderPart),
    /// Tokens used by this turn so far; a later one replaces an earlier one.
    Usage(Usage),
    /// The turn ended, and why. The last delta.
    Finish(FinishReason),
}

/// A whole turn: the deltas of one stream, put together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// Text, reasoning and calls in order.
    pub content: Vec<AssistantPart>,
    /// Tokens used.
    pub usage: Usage,
    /// Why the turn ended; `None` while it has not.
    pub finish: Option<FinishReason>,
    /// Call index → place in `content`.
    calls: Vec<(usize, usize)>,
}

impl Turn {
    /// Adds a delta.
    pub fn push(&mut self, delta: Delta) {
        match delta {
            Delta::Text(more) => match self.content.last_mut() {
                Some(AssistantPart::Text { text }) => text.push_str(&more),
                _ => self.content.push(AssistantPart::Text { text: more }),
            },
            Delta::Reasoning(more) => match self.content.last_mut() {
                Some(AssistantPart::Reasoning { text, signature: None }) => text.push_str(&more),
                _ => self.content.push(AssistantPart::Reasoning { text: more, signature: None }),
            },
            Delta::ReasoningSignature(seal) => match self.content.last_mut() {
                Some(AssistantPart::Reasoning { signature, .. }) => signature.get_or_insert_default().push_str(&seal),
                _ => self.content.push(AssistantPart::Reasoning { text: String::new(), signature: Some(seal) }),
            },
            Delta::CallStart { index, id, name } => {
                self.calls.push((index, self.content.len()));
                self.content.push(AssistantPart::Call(ToolCall { id, name, arguments: String::new() }));
            }
            Delta::CallArguments { index, text } => {
                if let Some(call) = self.call_mut(index) {
                    call.arguments.push_str(&text);
                }
            }
            Delta::CallEnd { .. } => {}
            Delta::Provider(part) => self.content.push(AssistantPart::Provider(part)),
            Delta::Usage(usage) => self.usage = usage,
            Delta::Finish(reason) => self.finish = Some(reason),
        }
    }

    /// The calls of the turn, in the model's order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The call that [`Delta`]s with this `index` belong to.
    pub fn call_at(&self, index: usize) -> Option<&ToolCall> {
        let place = self.calls.iter().rev().find(|(known, _)| *known == index)?.1;
        match self.content.get(place) {
            Some(AssistantPart::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// Which call of the turn [`Delta`]s with this `index` belong to, from 0 in the model's order.
    pub fn number_of(&self, index: usize) -> Option<usize> {
        self.calls.iter().rposition(|(known, _)| *known == index)
    }

    /// The text of the turn.
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|part| match part {
                AssistantPart::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    fn call_mut(&mut self, index: usize) -> Option<&mut ToolCall> {
        let place = self.calls.iter().rev().find(|(known, _)| *known == index)?.1;
        match self.content.get_mut(place) {
            Some(AssistantPart::Call(call)) => Some(call),
            _ => None,
        }
    }
}
