//! The deltas that a model streams, the turn that they form, and hand-made turns.

use serde::{Deserialize, Serialize};

use crate::message::{AssistantPart, FinishReason, ProviderPart, Signature, ToolCall, Usage};

/// One delta of a model's turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// More text for the person.
    Text(String),
    /// More of the model's reasoning.
    Reasoning(String),
    /// The provider's signature of the reasoning so far. Without reasoning before it, the signature of the part that follows.
    ReasoningSignature(Signature),
    /// A call begins. `index` identifies it among the parallel calls of the turn.
    CallStart {
        /// The index of the call in this turn.
        index: usize,
        /// The call's id.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of a call's argument text.
    CallArguments {
        /// The index of the call in this turn.
        index: usize,
        /// The next piece of the arguments' JSON text, without the escapes of the provider's protocol.
        text: String,
    },
    /// A call's argument text is complete.
    CallEnd {
        /// The index of the call in this turn.
        index: usize,
    },
    /// A call, or its result, of a tool that the provider executes.
    Provider(ProviderPart),
    /// The tokens used by this turn so far; a later delta replaces an earlier one.
    Usage(Usage),
    /// The turn ended, with the reason. The last delta.
    Finish(FinishReason),
}

/// A whole turn: the combined deltas of one stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// Text, reasoning and calls, in order.
    pub content: Vec<AssistantPart>,
    /// Tokens used.
    pub usage: Usage,
    /// The reason why the turn ended; `None` before its end.
    pub finish: Option<FinishReason>,
    /// The index of each call, with its place in `content`.
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
                Some(AssistantPart::Reasoning { signature: Some(first), .. }) if first.origin == seal.origin => {
                    first.value.push_str(&seal.value);
                }
                Some(AssistantPart::Reasoning { signature: signature @ None, .. }) => *signature = Some(seal),
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

    /// Returns the calls of the turn, in the model's order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the call to which [`Delta`]s with this `index` belong.
    pub fn call_at(&self, index: usize) -> Option<&ToolCall> {
        let place = self.calls.iter().rev().find(|(known, _)| *known == index)?.1;
        match self.content.get(place) {
            Some(AssistantPart::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// Returns the number of the call to which [`Delta`]s with this `index` belong, from 0 in the model's order.
    pub fn number_of(&self, index: usize) -> Option<usize> {
        self.calls.iter().rposition(|(known, _)| *known == index)
    }

    /// Returns the text of the turn.
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

/// Constructors of turns, for [`ScriptedModel`](super::ScriptedModel) and [`FunctionModel`](super::FunctionModel).
///
/// ```
/// use serde_json::json;
/// use tool_runtime::model::Turn;
///
/// let turn = Turn::say("I look it up.")
///     .then_call("weather", json!({"city": "Oslo"}))
///     .then_call("weather", r#"{"city": "Ber"#); // cut off, as a model may do it
/// assert_eq!(turn.calls().count(), 2);
/// ```
impl Turn {
    /// Creates a turn of one text.
    pub fn say(text: impl Into<String>) -> Self {
        Self::default().then_say(text)
    }

    /// Creates a turn of one call. `arguments` is a JSON value, or the text that the model writes, valid or not.
    ///
    /// The call has an empty id; the model that returns the turn fills it in.
    #[allow(clippy::needless_pass_by_value, reason = "a value made by `json!` on the spot reads best")]
    pub fn call(name: impl Into<String>, arguments: impl ToString) -> Self {
        Self::default().then_call(name, arguments)
    }

    /// Adds text.
    pub fn then_say(mut self, text: impl Into<String>) -> Self {
        self.push(Delta::Text(text.into()));
        self.concluded()
    }

    /// Adds reasoning.
    pub fn then_reason(mut self, text: impl Into<String>) -> Self {
        self.push(Delta::Reasoning(text.into()));
        self.concluded()
    }

    /// Adds a call: see [`Turn::call`].
    #[allow(clippy::needless_pass_by_value, reason = "a value made by `json!` on the spot reads best")]
    pub fn then_call(mut self, name: impl Into<String>, arguments: impl ToString) -> Self {
        let index = self.calls().count();
        self.push(Delta::CallStart { index, id: String::new(), name: name.into() });
        self.push(Delta::CallArguments { index, text: arguments.to_string() });
        self.concluded()
    }

    /// Sets the reason why the turn ended, in place of the default: tool calls, or a regular stop without calls.
    pub fn with_finish(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }

    /// Sets the tokens used.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Returns the deltas that form this turn. If the turn did not end safely ([`FinishReason::allows_calls`]), its calls
    /// have no [`Delta::CallEnd`].
    pub fn into_deltas(self) -> Vec<Delta> {
        let whole = self.finish.as_ref().is_some_and(FinishReason::allows_calls);
        let mut deltas = Vec::new();
        let mut calls = 0..;
        for part in self.content {
            match part {
                AssistantPart::Text { text } => deltas.push(Delta::Text(text)),
                AssistantPart::Reasoning { text, signature } => {
                    deltas.push(Delta::Reasoning(text));
                    deltas.extend(signature.map(Delta::ReasoningSignature));
                }
                AssistantPart::Provider(part) => deltas.push(Delta::Provider(part)),
                AssistantPart::Call(call) => {
                    let index = calls.next().unwrap_or_default();
                    deltas.push(Delta::CallStart { index, id: call.id, name: call.name });
                    if !call.arguments.is_empty() {
                        deltas.push(Delta::CallArguments { index, text: call.arguments });
                    }
                    if whole {
                        deltas.push(Delta::CallEnd { index });
                    }
                }
            }
        }
        if self.usage != Usage::default() {
            deltas.push(Delta::Usage(self.usage));
        }
        deltas.extend(self.finish.map(Delta::Finish));
        deltas
    }

    fn concluded(mut self) -> Self {
        let reason = if self.calls().next().is_some() { FinishReason::ToolCalls } else { FinishReason::Stop };
        if self.finish.as_ref().is_none_or(FinishReason::allows_calls) {
            self.finish = Some(reason);
        }
        self
    }
}
