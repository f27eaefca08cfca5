//! What a model streams back, and the turn it adds up to.

use serde::{Deserialize, Serialize};

use crate::message::{AssistantPart, ToolCall};

/// One piece of a model's turn.
#[derive(Clone, Debug, PartialEq)]
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
    /// Tokens used by this turn so far; a later one replaces an earlier one.
    Usage(Usage),
    /// The turn ended, and why. The last delta.
    Finish(FinishReason),
}

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model said all it wanted to say.
    Stop,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The model hit its size limit: what it said last may be cut, so none of its calls is executed.
    Length,
    /// A content filter cut the turn: none of its calls is executed.
    ContentFilter,
    /// Another reason, in the provider's words: none of its calls is executed.
    Other(String),
}

impl FinishReason {
    /// Whether the turn is whole, so that its calls may be executed.
    pub fn is_safe(&self) -> bool {
        matches!(self, Self::Stop | Self::ToolCalls)
    }
}

/// Tokens that a model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
    /// Tokens of the request that the provider had cached.
    pub cached_tokens: u64,
    /// Tokens of the answer that were reasoning.
    pub reasoning_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
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
