//! The decoder of streams of the Responses API: it turns events into deltas.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    calls::Calls,
    error::{self, protocol_error, unreadable_error},
    http::response::Decode,
    lenient::{Key, if_fits, is_end_mark},
    openai::tokens::read_usage,
};
use tool_runtime::{
    message::{Message, ProviderPart, ProviderPartKind, Signature},
    model::{Delta, FinishReason, ModelError, ModelErrorKind},
    toolset::{ListFormat, ToolList},
};

/// The members of a message or a call that must go back, and have no place in a conversation: whether a text is a commentary or the
/// final answer, the namespace of a tool that the provider's search found, and the program of the provider that calls.
const EXTRA_MEMBERS: [&str; 3] = ["phase", "namespace", "caller"];

/// A decoder of the stream of one response of OpenAI's Responses API, or of a server with the same API.
///
/// The key of an item is its `output_index`, because servers leave out the ids of items, or change them in each event. The identity
/// of a call is its `call_id`, which also finds it in events without an index. What an event says at the end of an item adds the part
/// that no event before had. If it contradicts what was already shown, the turn fails.
#[derive(Debug)]
pub struct ResponsesDecoder {
    origin: String,
    calls: Calls,
    /// The items of the response, in the order in which they began.
    items: Vec<Item>,
    /// Calls of the provider's shell. They go on with their results only, because a call without one waits for the application.
    shell_calls: Vec<ProviderPart>,
    has_refused: bool,
    /// Set if a call ended as incomplete.
    has_cut_call: bool,
    is_over: bool,
}

#[derive(Debug)]
struct Item {
    output_index: Option<Key>,
    kind: ItemKind,
    is_done: bool,
    texts: Vec<ShownText>,
}

#[derive(Clone, Debug, PartialEq)]
enum ItemKind {
    Message,
    Reasoning,
    /// A call, with its index in `calls` and its `call_id`.
    Call(usize, String),
    /// An item of the provider's own tools, or an unknown one.
    Other,
}

/// A text of an item, as far as deltas have shown it.
#[derive(Debug)]
struct ShownText {
    kind: TextKind,
    /// The index of the part that has this text.
    part: u64,
    text: String,
}

/// The kind of a text that arrives in pieces.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TextKind {
    Text,
    Refusal,
    Summary,
    Reasoning,
    Arguments,
}

impl TextKind {
    /// Returns the kind of text that events with this name have, apart from the name's last word.
    fn of_events(name: &str) -> Option<Self> {
        Some(match name {
            "response.output_text" => Self::Text,
            "response.refusal" => Self::Refusal,
            "response.reasoning_summary_text" => Self::Summary,
            "response.reasoning_text" => Self::Reasoning,
            "response.function_call_arguments" => Self::Arguments,
            _ => return None,
        })
    }

    /// Returns whether items of this kind have such texts.
    fn belongs_to(self, kind: &ItemKind) -> bool {
        match self {
            Self::Text | Self::Refusal => *kind == ItemKind::Message,
            Self::Summary | Self::Reasoning => *kind == ItemKind::Reasoning,
            Self::Arguments => matches!(kind, ItemKind::Call(..)),
        }
    }
}

impl ResponsesDecoder {
    /// Creates a decoder of the response to a request with these messages and tools.
    pub fn new(messages: &[Message], tools: &ToolList) -> Self {
        Self {
            origin: String::new(),
            calls: Calls::new(tools, ListFormat::Responses, messages),
            items: Vec::new(),
            shell_calls: Vec::new(),
            has_refused: false,
            has_cut_call: false,
            is_over: false,
        }
    }

    /// Sets the origin of the data that only the server can read ([`Signature::origin`]). The default is empty.
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    fn apply_event(&mut self, event: &Event<'_>, data: &str, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let (name, end) = event.r#type.rsplit_once('.').unwrap_or_default();
        if let Some(kind) = TextKind::of_events(name) {
            return self.apply_text(event, kind, end, out);
        }
        let index = event.output_index.as_ref();
        match (&*event.r#type, event.item, event.response) {
            ("response.output_item.added", Some(item), _) => self.begin_item(index, &read(item)?, out).map(drop),
            ("response.output_item.done", Some(item), _) => self.end_item(index, item, out),
            ("response.completed" | "response.incomplete" | "response.failed", _, response) => {
                self.end_response(end, response.map_or("{}", RawValue::get), out)
            }
            ("error" | "response.error", ..) => Err(error::read_coded_error(data)),
            // A response that is not streamed.
            ("", ..) if event.output.is_some() => self.end_response("", data, out),
            ("", ..) => error::find_stream_error(data).map_or(Ok(()), Err),
            // Some servers send an error with a type of its own, and without an event around it.
            (other, ..) if !other.starts_with("response.") && error::is_error(data) => {
                Err(error::read_coded_error(data))
            }
            _ => Ok(()),
        }
    }

    /// Applies an event that has a piece of a text, or the whole text at its end.
    fn apply_text(
        &mut self,
        event: &Event<'_>,
        kind: TextKind,
        end: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let text = match (end, kind) {
            ("delta", _) => event.delta,
            ("done", TextKind::Refusal) => event.refusal,
            ("done", TextKind::Arguments) => event.arguments,
            ("done", _) => event.text,
            _ => None,
        };
        let text: String = match text {
            None => return Ok(()),
            // From some servers, arguments are JSON instead of a text with it.
            Some(json) if kind == TextKind::Arguments && !json.get().starts_with('"') => json.get().to_owned(),
            Some(json) => read(json)?,
        };
        let part = if kind == TextKind::Summary { event.summary_index } else { event.content_index };
        let known = self.find(event.output_index.as_ref()).filter(|at| kind.belongs_to(&self.items[*at].kind));
        let at = match (known, kind) {
            (Some(at), _) => at,
            // A call that was not announced begins at its end, which has all arguments.
            (None, TextKind::Arguments) => return Ok(()),
            // Some servers do not announce an item.
            (None, TextKind::Text | TextKind::Refusal) => {
                self.push_item(event.output_index.as_ref(), ItemKind::Message, out)
            }
            (None, _) => self.push_item(event.output_index.as_ref(), ItemKind::Reasoning, out),
        };
        if self.items[at].is_done {
            let is_repeated = end == "done" && self.has_shown(at, kind, &text);
            return if is_repeated { Ok(()) } else { Err(protocol_error("a text continued after it was complete")) };
        }
        if end == "done" {
            return self.complete_text(at, kind, part.unwrap_or_default(), &text, out);
        }
        self.show_text(at, kind, part.unwrap_or_default(), text, out);
        Ok(())
    }

    /// Returns whether the item has shown this text, or the text is empty.
    fn has_shown(&self, at: usize, kind: TextKind, text: &str) -> bool {
        let item = &self.items[at];
        text.is_empty()
            || match item.kind {
                ItemKind::Call(call, _) => self.calls.is_repetition(call, text),
                _ => item.texts.iter().any(|shown| shown.kind == kind && shown.text.trim() == text.trim()),
            }
    }

    fn show_text(&mut self, at: usize, kind: TextKind, part: u64, text: String, out: &mut Vec<Delta>) {
        if let ItemKind::Call(call, _) = self.items[at].kind {
            return self.calls.push(call, text, out);
        }
        if text.is_empty() {
            return;
        }
        self.has_refused |= kind == TextKind::Refusal;
        let texts = &mut self.items[at].texts;
        match texts.iter_mut().rfind(|shown| (shown.kind, shown.part) == (kind, part)) {
            Some(shown) => shown.text.push_str(&text),
            None => {
                if kind == TextKind::Summary && !texts.is_empty() {
                    out.push(Delta::Reasoning("\n\n".to_owned()));
                }
                texts.push(ShownText { kind, part, text: text.clone() });
            }
        }
        let is_answer = matches!(kind, TextKind::Text | TextKind::Refusal);
        out.push(if is_answer { Delta::Text(text) } else { Delta::Reasoning(text) });
    }

    /// Adds what the complete text has beyond its pieces. Fails if the two differ.
    fn complete_text(
        &mut self,
        at: usize,
        kind: TextKind,
        part: u64,
        whole: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        if let ItemKind::Call(call, _) = self.items[at].kind {
            return self.calls.complete(call, whole, out);
        }
        let shown = self.items[at].texts.iter().rfind(|shown| (shown.kind, shown.part) == (kind, part));
        let shown = shown.map_or("", |shown| &shown.text);
        match whole.strip_prefix(shown) {
            Some(rest) => self.show_text(at, kind, part, rest.to_owned(), out),
            // Some servers trim the text.
            None if whole.is_empty() || whole.trim() == shown.trim() => {}
            None => return Err(protocol_error("a text ends as another one than it began")),
        }
        Ok(())
    }

    /// Adds what the texts of the whole item have beyond its pieces. Fails if they differ. The pieces name the parts by an index that
    /// servers count in different ways, vLLM over all items. So the order decides which part a text is.
    fn complete_texts<'t>(
        &mut self,
        at: usize,
        texts: impl Iterator<Item = (TextKind, &'t str)>,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        // The number of texts of each kind so far.
        let mut counts = [0; 5];
        for (kind, text) in texts.filter(|(_, text)| !text.is_empty()) {
            let mut shown: Vec<u64> =
                self.items[at].texts.iter().filter(|shown| shown.kind == kind).map(|shown| shown.part).collect();
            shown.sort_unstable();
            let new = (0..u64::MAX).find(|part| shown.binary_search(part).is_err()).unwrap_or_default();
            let part = shown.get(counts[kind as usize]).copied().unwrap_or(new);
            counts[kind as usize] += 1;
            self.complete_text(at, kind, part, text, out)?;
        }
        Ok(())
    }

    /// Returns the position of the last item with this index. An event without an index belongs to the last item.
    fn find(&self, index: Option<&Key>) -> Option<usize> {
        self.items.iter().rposition(|item| index.is_none() || item.output_index.as_ref() == index)
    }

    /// Returns the position of the open item that an event about an item of this kind means. Without an index, that is the call with
    /// the same identity, or the last item if that is of the same kind.
    fn find_open(&self, index: Option<&Key>, kind: &ItemKind) -> Option<usize> {
        let at = match (index, kind) {
            (Some(_), _) => self.find(index),
            (None, ItemKind::Call(_, id)) => self.items.iter().rposition(|item| match &item.kind {
                ItemKind::Call(_, open) => !item.is_done && (id.is_empty() || open.is_empty() || open == id),
                _ => false,
            }),
            (None, _) => self.items.len().checked_sub(1).filter(|last| self.items[*last].kind == *kind),
        };
        at.filter(|at| !self.items[*at].is_done)
    }

    /// Returns whether `end` repeats the end of an item. Without an index, only a call with the same identity and arguments shows that.
    fn is_repeated(&self, index: Option<&Key>, end: &Value) -> bool {
        let is_meant = |item: &&Item| match (index, &item.kind) {
            (Some(_), _) => item.output_index.as_ref() == index,
            (None, ItemKind::Call(call, id)) => {
                let arguments = arguments_of(end);
                let is_same = arguments.is_empty() || self.calls.is_repetition(*call, &arguments);
                !id.is_empty() && is_same && item.is_ended_by(end)
            }
            (None, _) => false,
        };
        self.items.iter().rfind(is_meant).is_some_and(|item| item.is_done && item.is_ended_by(end))
    }

    fn push_item(&mut self, index: Option<&Key>, kind: ItemKind, out: &mut Vec<Delta>) -> usize {
        if kind == ItemKind::Reasoning {
            // Even an empty delta begins a part, which keeps the item's place before a call if its end comes later.
            out.push(Delta::Reasoning(String::new()));
        }
        self.items.push(Item { output_index: index.cloned(), kind, is_done: false, texts: Vec::new() });
        self.items.len() - 1
    }

    /// Begins an item, and returns its position. Returns that of the open item if the event only repeats it, and `None` for a call
    /// without a name, which begins at its end.
    fn begin_item(
        &mut self,
        index: Option<&Key>,
        item: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<Option<usize>, ModelError> {
        check_answerable(item, &self.origin)?;
        let id = member(item, "call_id");
        let kind = match member(item, "type") {
            "message" => ItemKind::Message,
            "reasoning" => ItemKind::Reasoning,
            "function_call" => ItemKind::Call(self.calls.len(), id.to_owned()),
            "" => return Err(unreadable_error("an item has no type", &item.to_string())),
            _ => ItemKind::Other,
        };
        if let Some(at) = self.find_open(index, &kind) {
            match (&self.items[at].kind, &kind) {
                (ItemKind::Call(_, open), ItemKind::Call(..)) if id.is_empty() || open.is_empty() || open == id => {
                    return Ok(Some(at));
                }
                (open, new) if open == new => return Ok(Some(at)),
                _ => return Err(protocol_error("an item of the response became another one")),
            }
        }
        if let ItemKind::Call(..) = kind {
            let name = member(item, "name");
            if name.is_empty() {
                return Ok(None);
            }
            self.push_extra(item, out);
            self.calls.start(id, name, out);
        } else if kind == ItemKind::Message {
            self.push_extra(item, out);
        }
        Ok(Some(self.push_item(index, kind, out)))
    }

    /// Adds the members of a message or a call for which a conversation has no place, as a signature before it.
    fn push_extra(&self, item: &Value, out: &mut Vec<Delta>) {
        let found = EXTRA_MEMBERS.iter().filter_map(|name| Some((*name, item.get(name)?)));
        let extra: Map<String, Value> =
            found.filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value.clone())).collect();
        if !extra.is_empty() {
            self.push_signature(Value::Object(extra).to_string(), out);
        }
    }

    fn push_signature(&self, value: String, out: &mut Vec<Delta>) {
        // The empty delta keeps the signature apart from that of the part before.
        out.push(Delta::Reasoning(String::new()));
        out.push(Delta::ReasoningSignature(Signature::new(&*self.origin, value)));
    }

    fn end_item(&mut self, index: Option<&Key>, json: &RawValue, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let item: Value = read(json)?;
        if self.is_repeated(index, &item) {
            return Ok(());
        }
        let Some(at) = self.begin_item(index, &item, out)? else {
            return Err(protocol_error("a call began without the name of a tool"));
        };
        self.complete_item(at, &item, json, out)
    }

    /// Ends the item at this position, whose whole is `item`, or `json` as it came.
    fn complete_item(
        &mut self,
        at: usize,
        item: &Value,
        json: &RawValue,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        self.items[at].is_done = true;
        match self.items[at].kind {
            ItemKind::Message => self.end_message(at, item, out)?,
            ItemKind::Reasoning => self.end_reasoning(at, item, json, out)?,
            ItemKind::Call(call, _) => {
                self.calls.complete(call, &arguments_of(item), out)?;
                // A response that is cut has such a call. All other words are there for complete ones.
                if member(item, "status") == "incomplete" {
                    self.has_cut_call = true;
                } else {
                    self.calls.end(call, out);
                }
            }
            ItemKind::Other => self.end_provider_item(item, json, out),
        }
        Ok(())
    }

    fn end_message(&mut self, at: usize, item: &Value, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let texts = parts_of(&item["content"]).iter().flat_map(|part| {
            let text = part.as_str().unwrap_or_else(|| member(part, "text"));
            [(TextKind::Text, text), (TextKind::Refusal, member(part, "refusal"))]
        });
        self.complete_texts(at, texts, out)?;
        let annotations = parts_of(&item["content"]).iter().flat_map(|part| parts_of(&part["annotations"]));
        // The API takes no annotation back.
        out.extend(annotations.filter(|annotation| annotation["type"].is_string()).map(|annotation| {
            let (kind, block) = (ProviderPartKind::Result, annotation.to_string());
            Delta::Provider(ProviderPart::new("openai", "", member(annotation, "type"), kind, block))
        }));
        Ok(())
    }

    fn end_reasoning(
        &mut self,
        at: usize,
        item: &Value,
        json: &RawValue,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let texts = |kind, parts| parts_of(parts).iter().map(move |part| (kind, member(part, "text")));
        let summary = texts(TextKind::Summary, &item["summary"]);
        self.complete_texts(at, summary.chain(texts(TextKind::Reasoning, &item["content"])), out)?;
        // Without its content, the item is only an id, which means nothing to a server that stored nothing.
        if !member(item, "encrypted_content").is_empty() || !parts_of(&item["content"]).is_empty() {
            self.push_signature(json.get().to_owned(), out);
        }
        Ok(())
    }

    /// Adds an item of the provider's own tools. Most such items have both the call and its result.
    fn end_provider_item(&mut self, item: &Value, json: &RawValue, out: &mut Vec<Delta>) {
        let r#type = member(item, "type");
        let kind = match r#type {
            "shell_call" | "program" => ProviderPartKind::Call,
            _ if !item["error"].is_null() || item["status"] == "failed" => ProviderPartKind::Failure,
            _ => ProviderPartKind::Result,
        };
        let first = |members: [&'static str; 2]| {
            members.map(|name| member(item, name)).into_iter().find(|text| !text.is_empty()).unwrap_or_default()
        };
        let is_call = r#type.ends_with("_call") || r#type.ends_with("_output") || r#type == "program";
        let id = if is_call { first(["call_id", "id"]) } else { "" };
        let name = first(["name", "type"]).trim_end_matches("_output").trim_end_matches("_call");
        let part = ProviderPart::new(&*self.origin, id, name, kind, json.get());
        if r#type == "shell_call" {
            return self.shell_calls.push(part);
        }
        if r#type == "shell_call_output" {
            let call = self.shell_calls.iter().position(|call| call.call_id == id);
            out.extend(call.map(|at| Delta::Provider(self.shell_calls.remove(at))));
        }
        out.push(Delta::Provider(part));
    }

    /// Ends the turn with `json`, the response. `event` is the last word of the event's name.
    fn end_response(&mut self, event: &str, json: &str, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let response: Response<'_> = error::read_event(json, "a response")?;
        let status = response.status.as_deref().unwrap_or_default();
        let has_error = error::read_error_member(response.error).is_some();
        if event == "failed" || status == "failed" || (has_error && event == "completed") {
            return Err(error::read_coded_error(response.error.map_or("{}", RawValue::get)));
        }
        if status == "cancelled" || (event.is_empty() && ["queued", "in_progress"].contains(&status)) {
            return Err(error::cut_off_error());
        }
        self.complete_items(&response.output.unwrap_or_default(), out)?;
        let reason = if event == "incomplete" || status == "incomplete" {
            read_incomplete_reason(response.incomplete_details)
        } else if let Some(call) = self.shell_calls.first() {
            return Err(unanswerable("shell_call", &call.name));
        } else if self.has_refused {
            FinishReason::ContentFilter
        } else if self.has_cut_call {
            FinishReason::Length
        } else if self.calls.len() > 0 {
            FinishReason::ToolCalls
        } else {
            FinishReason::Stop
        };
        if reason.allows_calls() {
            self.calls.check_open()?;
        }
        self.is_over = true;
        self.calls.finish(reason.allows_calls(), out)?;
        out.extend(response.usage.map(|usage| Delta::Usage(read_usage(&usage))));
        out.push(Delta::Finish(reason));
        Ok(())
    }

    /// Adds what the stream lacks from the items of the whole response: all items if the server does not stream, the ends of open items
    /// of the model, and calls if it streamed none.
    fn complete_items(&mut self, output: &[&RawValue], out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let (is_streamed, has_calls) = (!self.items.is_empty(), self.calls.len() > 0);
        if has_calls && self.items.iter().all(|item| item.is_done) {
            return Ok(());
        }
        for (place, json) in output.iter().enumerate() {
            let item: Value = read(json)?;
            let is_call = item["type"] == "function_call";
            let open = self.items.iter().enumerate().position(|(at, open)| {
                let is_there = open.output_index.clone().unwrap_or_else(|| Key::from(at)) == Key::from(place);
                let is_of_model = open.kind != ItemKind::Other;
                !open.is_done && is_of_model && open.is_ended_by(&item) && (is_call || is_there)
            });
            match open {
                Some(at) => self.complete_item(at, &item, json, out)?,
                None if !is_streamed => self.end_item(Some(&Key::from(place)), json, out)?,
                None if is_call && !has_calls => self.end_item(None, json, out)?,
                None => {}
            }
        }
        Ok(())
    }
}

impl Decode for ResponsesDecoder {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.is_over || data.is_empty() || is_end_mark(data) {
            return Ok(Vec::new());
        }
        let event: Event<'_> = error::read_event(data, "one of the Responses API")?;
        let mut out = Vec::new();
        self.apply_event(&event, data, &mut out)?;
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        if self.is_over { Ok(Vec::new()) } else { Err(error::cut_off_error()) }
    }
}

impl Item {
    /// Returns whether `end` may be the end of this item.
    fn is_ended_by(&self, end: &Value) -> bool {
        match (&self.kind, member(end, "type")) {
            (ItemKind::Call(_, id), "function_call") => member(end, "call_id") == id,
            (kind, "message") => *kind == ItemKind::Message,
            (kind, "reasoning") => *kind == ItemKind::Reasoning,
            (kind, _) => *kind == ItemKind::Other,
        }
    }
}

/// Fails if the item waits for an answer of the application that a conversation has no place for.
fn check_answerable(item: &Value, origin: &str) -> Result<(), ModelError> {
    let r#type = member(item, "type");
    let waits = match r#type {
        "mcp_approval_request" | "local_shell_call" | "apply_patch_call" | "computer_call" => true,
        // xAI's search on X is such an item, and has already run.
        "custom_tool_call" => origin != "responses@api.x.ai",
        "tool_search_call" => item["execution"] == "client",
        _ => false,
    };
    let name = Some(member(item, "name")).filter(|name| !name.is_empty());
    if waits { Err(unanswerable(r#type, name.unwrap_or(r#type))) } else { Ok(()) }
}

/// Returns a member that is a text; empty if it is missing.
fn member<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_default()
}

/// Returns the parts in a list. A text, as the content of a message, is one part.
fn parts_of(list: &Value) -> &[Value] {
    match list {
        Value::Array(parts) => parts,
        Value::String(_) => std::slice::from_ref(list),
        _ => &[],
    }
}

/// Returns the arguments of a call: a text with their JSON, or from some servers the JSON itself.
fn arguments_of(item: &Value) -> Cow<'_, str> {
    match &item["arguments"] {
        Value::String(text) => text.into(),
        Value::Null => "".into(),
        json => json.to_string().into(),
    }
}

/// Reads a member of an event.
fn read<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Result<T, ModelError> {
    serde_json::from_str(json.get())
        .map_err(|error| unreadable_error("an event has an unexpected value", json.get()).with_source(error))
}

fn read_incomplete_reason(details: Option<IncompleteDetails>) -> FinishReason {
    match details.and_then(|details| details.reason) {
        // The specification names both.
        Some(reason) if ["max_output_tokens", "max_tokens"].contains(&&*reason) => FinishReason::Length,
        Some(reason) if reason == "content_filter" => FinishReason::ContentFilter,
        reason => FinishReason::Other(reason.unwrap_or_else(|| "incomplete".to_owned())),
    }
}

/// Returns the error for an item that only the application could answer.
fn unanswerable(r#type: &str, name: &str) -> ModelError {
    let advice = if r#type == "mcp_approval_request" {
        "set its `require_approval` to `never`, or connect to its server with `tool_server::mcp`"
    } else {
        "offer a tool of your own in its place"
    };
    let message =
        format!("the provider's tool `{name}` waits for the application ({type}), which has no answer: {advice}");
    ModelError::new(ModelErrorKind::Configuration, message)
}

// The events, in the forms that servers use. All members are optional, and null counts as missing.

#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    r#type: Cow<'a, str>,
    output_index: Option<Key>,
    #[serde(default, deserialize_with = "if_fits")]
    content_index: Option<u64>,
    #[serde(default, deserialize_with = "if_fits")]
    summary_index: Option<u64>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    /// A member of a response that is not streamed.
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Response<'a> {
    #[serde(default, deserialize_with = "if_fits")]
    status: Option<String>,
    #[serde(default, deserialize_with = "if_fits")]
    incomplete_details: Option<IncompleteDetails>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
    usage: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}
