//! The calls of a turn, while they arrive: [`Calls`] makes their ids unique, and converts arguments to the form of the neutral
//! schema. [`wrap_arguments`] and [`normalize_arguments`] prepare the arguments of earlier calls for a request.

use std::{borrow::Cow, collections::HashSet};

use serde_json::json;
#[cfg(any(feature = "anthropic", feature = "gemini"))]
use serde_json::value::RawValue;

use crate::error::protocol_error;
use tool_runtime::{
    message::{AssistantPart, Message},
    model::{Delta, ModelError},
    toolset::{ListFormat, ToolList},
};

/// The begin of the ids that [`Calls`] makes for calls without one. Two numbers follow, or three.
const MADE_ID: &str = "call_";

/// The calls of one turn, numbered from 0 in the order in which they begin.
#[derive(Debug)]
pub struct Calls {
    tools: ToolList,
    format: ListFormat,
    /// The number of messages before this turn. It is part of new ids, so that these differ between turns.
    message_count: usize,
    /// The ids of all calls in the conversation, with those of this turn.
    used_ids: HashSet<String>,
    states: Vec<CallState>,
}

#[derive(Debug)]
struct CallState {
    name: String,
    text: String,
    /// Set if no delta may contain the text until it is complete. It may have a `null` that the neutral schema does not allow.
    is_buffered: bool,
    is_ended: bool,
}

impl Calls {
    pub fn new(tools: &ToolList, format: ListFormat, messages: &[Message]) -> Self {
        let parts = messages.iter().flat_map(|message| match message {
            Message::Assistant { content } => content.as_slice(),
            _ => &[],
        });
        let used_ids = parts.filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call.id.clone()),
            _ => None,
        });
        Self {
            tools: tools.clone(),
            format,
            message_count: messages.len(),
            used_ids: used_ids.collect(),
            states: Vec::new(),
        }
    }

    /// Returns the number of calls that have begun.
    #[cfg(any(feature = "gemini", feature = "openai"))]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Begins a call, and returns its index. Replaces an `id` that is empty or already used.
    pub fn start(&mut self, id: &str, name: &str, out: &mut Vec<Delta>) -> usize {
        let index = self.states.len();
        let id = self.make_unique_id(id, index);
        let is_buffered =
            self.tools.get(name).is_some_and(|spec| spec.input.lowered(self.format.dialect(spec).0).raises());
        self.states.push(CallState { name: name.to_owned(), text: String::new(), is_buffered, is_ended: false });
        out.push(Delta::CallStart { index, id, name: name.to_owned() });
        index
    }

    /// Adds `text` to the arguments of a call that has begun.
    pub fn push(&mut self, index: usize, text: String, out: &mut Vec<Delta>) {
        let call = &mut self.states[index];
        if text.is_empty() {
            return;
        }
        call.text.push_str(&text);
        if !call.is_buffered {
            out.push(Delta::CallArguments { index, text });
        }
    }

    /// Ends a call whose arguments are complete.
    pub fn end(&mut self, index: usize, out: &mut Vec<Delta>) {
        if !std::mem::replace(&mut self.states[index].is_ended, true) {
            self.flush(index, out);
            out.push(Delta::CallEnd { index });
        }
    }

    /// Ends the turn. If `is_complete` is set, the model finished its calls, and this ends them. Otherwise the open calls stay
    /// open, with the text that has arrived.
    pub fn finish(&mut self, is_complete: bool, out: &mut Vec<Delta>) {
        for index in 0..self.states.len() {
            if is_complete {
                self.end(index, out);
            } else {
                self.flush(index, out);
            }
        }
    }

    /// Fails if the arguments of an open call are incomplete, for a protocol that marks the end of each call. Without its mark, a call
    /// without arguments is one that was cut before them.
    pub fn check_open(&self) -> Result<(), ModelError> {
        if (0..self.states.len()).all(|index| self.states[index].is_ended || self.has_complete_arguments(index)) {
            return Ok(());
        }
        Err(protocol_error("the response ended before the arguments of a call were complete"))
    }

    /// Returns whether the arguments of a call so far are a complete JSON object.
    pub fn has_complete_arguments(&self, index: usize) -> bool {
        let text = self.states[index].text.trim_ascii();
        text.starts_with('{') && text.ends_with('}') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    }

    fn flush(&mut self, index: usize, out: &mut Vec<Delta>) {
        let call = &mut self.states[index];
        if !std::mem::take(&mut call.is_buffered) || call.text.is_empty() {
            return;
        }
        let raised = self.tools.get(&call.name).map_or(call.text.as_str().into(), |spec| {
            spec.input.lowered(self.format.dialect(spec).0).raise(&call.text)
        });
        out.push(Delta::CallArguments { index, text: raised.into_owned() });
    }

    fn make_unique_id(&mut self, given: &str, index: usize) -> String {
        let wanted =
            if given.is_empty() { format!("{MADE_ID}{}_{index}", self.message_count) } else { given.to_owned() };
        let mut id = wanted.clone();
        let mut copies = 1;
        while !self.used_ids.insert(id.clone()) {
            copies += 1;
            id = format!("{wanted}_{copies}");
        }
        id
    }
}

/// Methods for protocols that do not always mark the ends of calls.
#[cfg(feature = "openai")]
impl Calls {
    /// Adds what `whole`, the complete arguments, has beyond the text so far. An empty `whole` adds nothing. Fails if the two are
    /// different JSON.
    pub fn complete(&mut self, index: usize, whole: &str, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let known = &self.states[index].text;
        if let Some(rest) = whole.strip_prefix(known.as_str()) {
            self.push(index, rest.to_owned(), out);
            return Ok(());
        }
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        if whole.trim_ascii().is_empty() || value(whole).is_some_and(|whole| value(known) == Some(whole)) {
            return Ok(());
        }
        let message = format!("the arguments of `{}` end as other ones than they began", self.states[index].name);
        Err(protocol_error(&message))
    }

    /// Returns whether the arguments of a call are complete, and `text` repeats all of them.
    pub fn is_repetition(&self, index: usize, text: &str) -> bool {
        let (text, known) = (text.trim_ascii(), self.states[index].text.trim_ascii());
        !text.is_empty() && text == known && self.has_complete_arguments(index)
    }

    pub fn is_ended(&self, index: usize) -> bool {
        self.states[index].is_ended
    }
}

/// Returns whether `id` has the form of the ids that [`Calls`] makes for calls without one.
#[cfg(feature = "gemini")]
pub fn is_made_id(id: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    id.strip_prefix(MADE_ID).is_some_and(|rest| rest.contains('_') && rest.split('_').all(is_number))
}

/// Returns the arguments of a call as a JSON object, as [`normalize_arguments`] does.
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub fn parse_arguments(text: &str) -> Cow<'_, RawValue> {
    let invariant = "`normalize_arguments` returns valid JSON";
    match normalize_arguments(text) {
        Cow::Borrowed(text) => Cow::Borrowed(serde_json::from_str(text).expect(invariant)),
        Cow::Owned(text) => Cow::Owned(RawValue::from_string(text).expect(invariant)),
    }
}

/// Returns `messages` with the arguments of calls as the model wrote them, where the schema in `format` wraps the arguments.
#[cfg(any(feature = "anthropic", feature = "openai"))]
pub fn wrap_arguments<'a>(messages: Cow<'a, [Message]>, tools: &ToolList, format: ListFormat) -> Cow<'a, [Message]> {
    if !tools.specs().iter().any(|spec| spec.input.lowered(format.dialect(spec).0).wraps()) {
        return messages;
    }
    let mut messages = messages.into_owned();
    for message in &mut messages {
        let Message::Assistant { content } = message else { continue };
        for part in content {
            if let AssistantPart::Call(call) = part
                && let Some(spec) = tools.get(&call.name)
            {
                call.arguments = spec.input.lowered(format.dialect(spec).0).wrap(&call.arguments).into_owned();
            }
        }
    }
    Cow::Owned(messages)
}

/// Returns the arguments of a call as the text of a JSON object. If one call has other arguments, providers and the chat
/// templates of local servers refuse the whole conversation. So this function wraps any other text in an object, as Anthropic
/// recommends. An empty text becomes `{}`.
pub fn normalize_arguments(text: &str) -> Cow<'_, str> {
    let text = text.trim_ascii();
    if text.is_empty() {
        Cow::Borrowed("{}")
    } else if text.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(json!({ "INVALID_JSON": text }).to_string())
    }
}
