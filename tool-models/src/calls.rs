//! The calls of a turn, while they arrive: [`Calls`] makes their ids unique, and converts arguments to the form of the neutral
//! schema. [`wrap_arguments`] and [`normalize_arguments`] prepare the arguments of earlier calls for a request.

use std::{borrow::Cow, collections::HashSet};

use serde_json::json;
#[cfg(any(feature = "anthropic", feature = "gemini"))]
use serde_json::value::RawValue;

use crate::error::protocol_error;
use tool_runtime::{
    message::{AssistantPart, Message, Signature},
    model::{Delta, ModelError},
    toolset::{ListFormat, ToolList},
};

/// The begin of the ids that [`Calls`] makes for calls without one. Two numbers follow, or three.
const MADE_ID: &str = "call_";

/// The number of bytes after which the arguments of a call without a name are cut, so that a server cannot fill the memory.
const MAX_UNNAMED_BYTES: usize = 1 << 20;

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
    /// The calls that deltas have begun, in this order.
    announced: Vec<usize>,
}

#[derive(Debug, Default)]
struct CallState {
    /// The id that the server gave to the call, if it gave one.
    id: String,
    /// The name so far. A server may send it after arguments, or in pieces.
    name: String,
    text: String,
    /// The signature that belongs to the call.
    signature: Option<Signature>,
    /// Set as soon as a delta has the id and the name. Until then, no delta has the text.
    is_announced: bool,
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
            announced: Vec::new(),
        }
    }

    /// Returns the number of calls that have begun.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Begins a call, and returns its index. With a name, which is whole, the call is announced. Without one, the pieces of the name come
    /// later. An `id` that is empty or already used is replaced.
    pub fn start(&mut self, id: &str, name: &str, out: &mut Vec<Delta>) -> usize {
        let index = self.states.len();
        let name = self.clean_name(name).to_owned();
        let is_named = !name.is_empty();
        self.states.push(CallState { id: id.to_owned(), name, ..CallState::default() });
        if is_named {
            self.announce(index, out);
        }
        index
    }

    /// Returns a name of an offered tool without the special tokens that some servers leave in it, as in `f<|channel|>commentary`.
    pub fn clean_name<'a>(&self, name: &'a str) -> &'a str {
        name.split_once("<|").map(|(name, _)| name).filter(|name| self.tools.get(name).is_some()).unwrap_or(name)
    }

    fn announce(&mut self, index: usize, out: &mut Vec<Delta>) {
        let id = self.make_unique_id(index);
        let call = &mut self.states[index];
        let spec = self.tools.get(&call.name);
        call.is_buffered = spec.is_some_and(|spec| spec.input.lowered(self.format.dialect(spec).0).raises());
        call.is_announced = true;
        if let Some(signature) = call.signature.clone() {
            push_signature(signature, out);
        }
        out.push(Delta::CallStart { index, id, name: call.name.clone() });
        self.announced.push(index);
        if !call.is_buffered && !call.text.is_empty() {
            out.push(Delta::CallArguments { index, text: call.text.clone() });
        }
    }

    /// Adds `text` to the arguments of a call that has begun.
    pub fn push(&mut self, index: usize, text: String, out: &mut Vec<Delta>) {
        let call = &mut self.states[index];
        // The run limits what deltas have, so only the text of a call without a name needs a limit here.
        let is_too_long = !call.is_announced && call.text.len() > MAX_UNNAMED_BYTES;
        if text.is_empty() || is_too_long {
            return;
        }
        call.text.push_str(&text);
        if !call.is_announced {
            // After the whole name come arguments, although another name is longer.
            if self.tools.get(&call.name).is_some() {
                self.announce(index, out);
            }
        } else if !call.is_buffered {
            out.push(Delta::CallArguments { index, text });
        }
    }

    /// Ends a call whose arguments are complete. A call without a name stays open.
    pub fn end(&mut self, index: usize, out: &mut Vec<Delta>) {
        let call = &self.states[index];
        if call.is_ended || call.name.is_empty() {
            return;
        }
        if !call.is_announced {
            self.announce(index, out);
        }
        self.states[index].is_ended = true;
        self.flush(index, out);
        out.push(Delta::CallEnd { index });
    }

    /// Ends the turn. If `is_complete` is set, the model finished its calls, and this ends them. Otherwise the open calls stay
    /// open, with the text that has arrived. Fails if a call of a complete turn has no name.
    pub fn finish(&mut self, is_complete: bool, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if is_complete {
            self.check_names()?;
        }
        for index in 0..self.states.len() {
            let call = &self.states[index];
            if is_complete {
                self.end(index, out);
            } else if call.is_announced {
                self.flush(index, out);
            } else if !call.name.is_empty() {
                self.announce(index, out);
                self.flush(index, out);
            }
        }
        Ok(())
    }

    /// Fails if the arguments of an open call are incomplete, for a protocol that marks the end of each call. Without its mark, a call
    /// without arguments is one that was cut before them.
    pub fn check_open(&self) -> Result<(), ModelError> {
        self.check_names()?;
        if self.are_complete() {
            return Ok(());
        }
        Err(protocol_error("the response ended before the arguments of a call were complete"))
    }

    fn check_names(&self) -> Result<(), ModelError> {
        let is_unnamed = self.states.iter().any(|call| call.name.is_empty());
        if is_unnamed { Err(protocol_error("a call has no name of a tool")) } else { Ok(()) }
    }

    /// Returns whether each call has ended, or has complete arguments.
    pub fn are_complete(&self) -> bool {
        (0..self.states.len()).all(|index| self.states[index].is_ended || self.has_complete_arguments(index))
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

    fn make_unique_id(&mut self, index: usize) -> String {
        let given = &self.states[index].id;
        let wanted = if given.is_empty() { format!("{MADE_ID}{}_{index}", self.message_count) } else { given.clone() };
        let mut id = wanted.clone();
        let mut copies = 1;
        while !self.used_ids.insert(id.clone()) {
            copies += 1;
            id = format!("{wanted}_{copies}");
        }
        id
    }
}

/// A method for a protocol whose calls have no arguments, or an object.
#[cfg(feature = "gemini")]
impl Calls {
    /// Returns whether no arguments have arrived.
    pub fn is_blank(&self, index: usize) -> bool {
        self.states[index].text.is_empty()
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

    /// Returns the name of a call so far; empty if no piece of it has arrived.
    pub fn name(&self, index: usize) -> &str {
        &self.states[index].name
    }

    /// Adds a piece of the name of a call: a fragment, or the whole name once more. The call is announced once its name is that of an
    /// offered tool, or cannot become one.
    pub fn push_name(&mut self, index: usize, piece: &str, out: &mut Vec<Delta>) {
        let call = &self.states[index];
        if call.is_announced || piece.is_empty() {
            return;
        }
        let piece = self.clean_name(piece);
        let name = match self.join_name(&call.name, piece) {
            Some(joined) => joined,
            None if call.name.is_empty() => piece.to_owned(),
            None => return,
        };
        let may_grow = self.is_begin_of_name(&name);
        self.states[index].name = name;
        if !may_grow {
            self.announce(index, out);
        }
    }

    /// Returns the name that `known` and `piece` form, if it is that of an offered tool, or the begin of one.
    fn join_name(&self, known: &str, piece: &str) -> Option<String> {
        let is_known = |name: &String| self.tools.get(name).is_some() || self.is_begin_of_name(name);
        let joined = format!("{known}{piece}");
        if is_known(&joined) {
            return Some(joined);
        }
        Some(piece.to_owned()).filter(|piece| piece.starts_with(known) && is_known(piece))
    }

    /// Returns whether an offered tool has a longer name that begins with `text`.
    fn is_begin_of_name(&self, text: &str) -> bool {
        self.tools.specs().iter().any(|spec| spec.name.len() > text.len() && spec.name.starts_with(text))
    }

    /// Returns whether `piece` may be the name of a call that has none yet, or more of its name.
    pub fn takes_name(&self, index: usize, piece: &str) -> bool {
        let call = &self.states[index];
        !call.is_announced && (call.name.is_empty() || self.join_name(&call.name, piece).is_some())
    }

    /// Sets the id of a call that has none, and was not announced.
    pub fn identify(&mut self, index: usize, id: &str) {
        let call = &mut self.states[index];
        if call.id.is_empty() && !call.is_announced {
            id.clone_into(&mut call.id);
        }
    }

    /// Adds the signature of a call, before the call if it was not announced. For a later one, `place` returns its form, from the number
    /// of the calls that were announced since, this one included.
    pub fn sign(
        &mut self,
        index: usize,
        signature: Signature,
        place: impl FnOnce(Signature, usize) -> Signature,
        out: &mut Vec<Delta>,
    ) {
        let call = &mut self.states[index];
        // Some servers repeat it in each piece.
        if call.signature.as_ref() == Some(&signature) {
            return;
        }
        call.signature = Some(signature.clone());
        if let Some(at) = self.announced.iter().position(|announced| *announced == index) {
            push_signature(place(signature, self.announced.len() - at), out);
        }
    }
}

/// Adds a signature as a part of its own. The empty delta keeps it apart from that of the part before.
pub fn push_signature(signature: Signature, out: &mut Vec<Delta>) {
    out.push(Delta::Reasoning(String::new()));
    out.push(Delta::ReasoningSignature(signature));
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
/// recommends. An empty text and `null` become `{}`, as which tools without parameters read them.
pub fn normalize_arguments(text: &str) -> Cow<'_, str> {
    let text = text.trim_ascii();
    if matches!(text, "" | "null") {
        Cow::Borrowed("{}")
    } else if text.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(json!({ "INVALID_JSON": text }).to_string())
    }
}
