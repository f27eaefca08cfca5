//! Turns made by hand, and turns taken apart again.

use super::{Delta, FinishReason, Turn, Usage};
use crate::message::AssistantPart;

/// Making a turn, for [`ScriptedModel`](super::ScriptedModel) and [`FunctionModel`](super::FunctionModel).
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
    /// A turn of one text.
    pub fn say(text: impl Into<String>) -> Self {
        Self::default().then_say(text)
    }

    /// A turn of one call. `arguments` is a JSON value, or the text that the model writes, valid or not.
    ///
    /// The call has an empty id; the model that gives the turn fills it in.
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

    /// Sets why the turn ended. Without it, it ended whole.
    pub fn with_finish(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }

    /// Sets the tokens used.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// The deltas that add up to this turn. The calls of a turn that did not end well are not ended.
    pub fn into_deltas(self) -> Vec<Delta> {
        let whole = self.finish.as_ref().is_some_and(FinishReason::is_safe);
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
        if self.finish.as_ref().is_none_or(FinishReason::is_safe) {
            self.finish = Some(reason);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_taken_apart_adds_up_to_itself() {
        let mut signed = Turn::default().then_reason("hm");
        signed.push(Delta::ReasoningSignature("seal".into()));
        let turns = [
            Turn::say("hello"),
            Turn::call("a", json!({"x": 1})).then_say("and").then_call("b", "").then_call("b", "{"),
            signed.then_reason("more").then_call("a", "{}"),
            Turn::call("a", "{").with_finish(FinishReason::Length),
            Turn::say("x").with_usage(Usage { input_tokens: 3, ..Usage::default() }),
            Turn::default(),
        ];
        for turn in turns {
            let mut again = Turn::default();
            for delta in turn.clone().into_deltas() {
                again.push(delta);
            }
            assert_eq!(again, turn);
        }
    }

    #[test]
    fn a_turn_ends_as_its_content_says() {
        assert_eq!(Turn::say("x").finish, Some(FinishReason::Stop));
        assert_eq!(Turn::say("x").then_call("t", "{}").then_say("y").finish, Some(FinishReason::ToolCalls));
        assert_eq!(Turn::say("x").with_finish(FinishReason::Length).then_say("y").finish, Some(FinishReason::Length));
    }
}
