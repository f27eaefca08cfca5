//! The messages of a chat, for a client that has none of them. [`AiSdkEncoder`] writes the run as frames, and [`Reader`] reads
//! the frames as the AI SDK's client does. So a page that is loaded again shows the same messages.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use tool_runtime::Message;
use tool_runtime::run::Run;

use super::stream::{message_position, part};
use super::{AiSdkEncoder, SdkVersion, StreamSettings};
use crate::protocol::{
    json_object::{Members, value},
    prompt_id,
};

/// A message of the AI SDK (`UIMessage`), to be serialized.
#[derive(Clone, Debug, Serialize)]
pub struct UiMessage {
    id: String,
    role: &'static str,
    parts: Vec<Part>,
}

impl UiMessage {
    /// Creates a message of the user.
    pub fn user(id: impl Into<String>, content: &[tool_runtime::Part]) -> Self {
        Self { id: id.into(), role: "user", parts: content.iter().map(|content| members(&part(content))).collect() }
    }
}

/// The members of a part. Values stay JSON text, so that deep values and long numbers reach the client unchanged.
type Part = BTreeMap<String, Box<RawValue>>;

/// Returns the messages of `run`, oldest first, with every call in its state. If `is_streamed` is set, leaves out the last
/// assistant message, because the client reads its stream.
///
/// Parts that tools added with [`DataParts`](super::DataParts) are not part of the run, and so not of its history.
pub fn history(run: &Run, settings: &StreamSettings, is_streamed: bool) -> Vec<UiMessage> {
    messages(run, settings, is_streamed).collect()
}

/// Returns the messages one by one, like [`history`], so that they need not be in memory all at once.
pub(crate) fn messages(run: &Run, settings: &StreamSettings, is_streamed: bool) -> impl Iterator<Item = UiMessage> {
    let prompts: Vec<_> = run.prompts().iter().filter(|prompt| !prompt.steers).collect();
    let ends: Vec<_> = prompts.iter().skip(1).map(|next| Some(message_position(next))).chain([None]).collect();
    prompts
        .into_iter()
        .zip(ends)
        .flat_map(move |(prompt, end)| {
            let at = message_position(prompt);
            let Some(Message::User { content }) = run.messages().get(at) else { return [None, None] };
            let parts = if end.is_none() && is_streamed {
                Vec::new()
            } else {
                assistant_parts(run, at..end.unwrap_or(run.messages().len()), settings)
            };
            let answer = UiMessage { id: answer_id(at), role: "assistant", parts };
            [
                Some(UiMessage::user(prompt_id(prompt.id.as_deref(), at), content)),
                Some(answer).filter(|answer| !answer.parts.is_empty()),
            ]
        })
        .flatten()
}

/// Returns the id of the last assistant message in [`history`], for a stream of that message.
pub(crate) fn last_assistant_id(run: &Run) -> String {
    answer_id(run.prompts().iter().rfind(|prompt| !prompt.steers).map_or(0, message_position))
}

/// Returns the id that [`history`] gives the answer to the prompt at this position among the messages.
pub(crate) fn answer_id(at: usize) -> String {
    format!("answer-{at}")
}

/// Returns the parts of the assistant message for these messages of `run`.
///
/// [`Encoder::end`](crate::protocol::Encoder::end) may add an empty text, so that the client does not send again when a response
/// has ended. A client sends nothing when it loads messages, so they need no such text.
fn assistant_parts(run: &Run, places: std::ops::Range<usize>, settings: &StreamSettings) -> Vec<Part> {
    // Messages of version 6 have all states of calls, although its stream has no chunk for each.
    let mut encoder = AiSdkEncoder::new("", run.id(), settings.clone().client_version(SdkVersion::V7));
    let mut frames = Vec::new();
    encoder.write_history(run, places, &mut frames);
    let mut reader = Reader::default();
    for frame in String::from_utf8_lossy(&frames).split("\n\n").filter_map(|frame| frame.strip_prefix("data: ")) {
        if let Ok(chunk) = Members::read(frame.as_bytes()) {
            reader.read(&chunk);
        }
    }
    let is_known =
        |part: &Part| settings.client_version >= SdkVersion::V7 || !has_text(part, "type", "steering-message");
    reader.finish().into_iter().filter(is_known).collect()
}

/// A client that reads the chunks of a response into the parts of its message.
#[derive(Default)]
struct Reader {
    parts: Vec<Part>,
    /// The texts with the positions of their parts, by the ids of their chunks. The parts get them at the end, so that many
    /// pieces cost no more than few.
    texts: BTreeMap<String, (usize, String)>,
}

impl Reader {
    fn read(&mut self, chunk: &Members<'_>) {
        let kind = chunk.text("type").unwrap_or_default();
        match kind.as_str() {
            "start-step" => self.parts.push(members(&json!({ "type": "step-start" }))),
            "text-start" | "reasoning-start" => {
                self.texts.insert(chunk.text("id").unwrap_or_default(), (self.parts.len(), String::new()));
                let kind = kind.trim_end_matches("-start");
                self.parts.push(members(&json!({ "type": kind, "text": "", "state": "streaming" })));
            }
            "text-delta" | "reasoning-delta" => {
                if let Some((_, text)) = self.text(chunk) {
                    text.push_str(&chunk.text("delta").unwrap_or_default());
                }
            }
            "text-end" | "reasoning-end" => {
                let at = self.text(chunk).map(|(at, _)| *at);
                if let Some(part) = at.and_then(|at| self.parts.get_mut(at)) {
                    set_text(part, "state", "done");
                }
            }
            "source-url" | "steering-message" => self.parts.push(copy_members(chunk, |_| true)),
            _ if kind.starts_with("data-") => self.add_data(chunk),
            _ => self.read_call(&kind, chunk),
        }
    }

    fn text(&mut self, chunk: &Members<'_>) -> Option<&mut (usize, String)> {
        self.texts.get_mut(&chunk.text("id")?)
    }

    /// Returns the parts, with their texts.
    fn finish(mut self) -> Vec<Part> {
        for (at, text) in self.texts.values() {
            set_text(&mut self.parts[*at], "text", text);
        }
        self.parts
    }

    /// Adds data, or replaces the data with the same type and id.
    fn add_data(&mut self, chunk: &Members<'_>) {
        let part = copy_members(chunk, |name| name != "transient");
        let key = |part: &Part| ["type", "id"].map(|name| part.get(name).map(|id| id.get().to_owned()));
        let known = self.parts.iter().position(|known| part.contains_key("id") && key(known) == key(&part));
        match known {
            Some(at) => self.parts[at] = part,
            None => self.parts.push(part),
        }
    }

    /// Reads a chunk about a call.
    fn read_call(&mut self, kind: &str, chunk: &Members<'_>) {
        let id = chunk.text(if kind == "tool-approval-response" { "approvalId" } else { "toolCallId" });
        let Some(id) = id else { return };
        let is_of_call = |part: &Part| match kind {
            "tool-approval-response" => {
                part.get("approval").and_then(|it| Members::of(it)?.text("id")) == Some(id.clone())
            }
            _ => has_text(part, "toolCallId", &id),
        };
        let at = self.parts.iter().rposition(is_of_call).unwrap_or_else(|| {
            self.parts.push(Part::new());
            self.parts.len() - 1
        });
        let part = &mut self.parts[at];
        if let Some(name) = chunk.text("toolName").filter(|_| part.is_empty()) {
            if chunk.value("dynamic") == Some(true) {
                set_text(part, "type", "dynamic-tool");
                set_text(part, "toolName", &name);
            } else {
                set_text(part, "type", &format!("tool-{name}"));
            }
            set_text(part, "toolCallId", &id);
        }
        let state = match kind {
            "tool-input-start" => "input-streaming",
            "tool-input-delta" => return set_arguments(part, chunk.text("inputTextDelta")),
            "tool-input-available" => "input-available",
            "tool-approval-request" => "approval-requested",
            "tool-approval-response" => "approval-responded",
            "tool-output-available" => "output-available",
            "tool-output-denied" => "output-denied",
            "tool-output-error" | "tool-input-error" => "output-error",
            _ => return,
        };
        set_text(part, "state", state);
        for name in ["title", "toolMetadata", "providerExecuted", "input", "output", "errorText", "preliminary"] {
            part.extend(chunk.raw(name).map(|value| (name.to_owned(), value.to_owned())));
        }
        let metadata = if state.starts_with("output-") { "resultProviderMetadata" } else { "callProviderMetadata" };
        part.extend(chunk.raw("providerMetadata").map(|value| (metadata.to_owned(), value.to_owned())));
        match state {
            "approval-requested" | "approval-responded" => set_approval(part, state, chunk),
            "input-streaming" => {}
            _ => {
                part.remove("rawInput");
                let is_approved = part.get("approval").and_then(|it| Members::of(it)?.value("approved")) == Some(true);
                // The AI SDK refuses messages with an approval in other states.
                if state != "output-denied" && !(is_approved && state.starts_with("output-")) {
                    part.remove("approval");
                }
            }
        }
    }
}

/// Sets the arguments of a call that are not complete. [`AiSdkEncoder::write_history`] writes them as one delta.
fn set_arguments(part: &mut Part, delta: Option<String>) {
    let text = delta.unwrap_or_default();
    set_text(part, "rawInput", &text);
    part.extend(RawValue::from_string(text).ok().map(|input| ("input".to_owned(), input)));
}

/// Sets a request for approval, or the answer to it.
fn set_approval(part: &mut Part, state: &str, chunk: &Members<'_>) {
    let is_request = state == "approval-requested";
    let known = part.get("approval").filter(|_| !is_request);
    let mut approval: Part = known.and_then(|approval| value(approval)).unwrap_or_default();
    let reason = if is_request { "requestReason" } else { "reason" };
    let names = [
        ("approvalId", "id"),
        ("approvalDescriptor", "descriptor"),
        ("isAutomatic", "isAutomatic"),
        ("approved", "approved"),
        ("reason", reason),
    ];
    for (from, to) in names {
        approval.extend(chunk.raw(from).map(|value| (to.to_owned(), value.to_owned())));
    }
    part.extend(serde_json::value::to_raw_value(&approval).ok().map(|approval| ("approval".to_owned(), approval)));
}

fn members(object: &Value) -> Part {
    let members = object.as_object().into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.clone(), serde_json::value::to_raw_value(value).ok()?))).collect()
}

/// Returns the members of a chunk whose names `is_kept` selects.
fn copy_members(chunk: &Members<'_>, is_kept: impl Fn(&str) -> bool) -> Part {
    let names = chunk.names().filter(|name| is_kept(name));
    names.filter_map(|name| Some((name.to_owned(), chunk.raw(name)?.to_owned()))).collect()
}

fn has_text(part: &Part, name: &str, text: &str) -> bool {
    part.get(name).and_then(|value| crate::protocol::json_object::text(value)).as_deref() == Some(text)
}

fn set_text(part: &mut Part, name: &str, text: &str) {
    part.extend(members(&json!({ name: text })));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A provider may cite pages between the pieces of a text, which is one part of many pieces. With a cost that grows with
    /// the square of their number, this test would take an hour.
    #[test]
    fn a_text_of_many_pieces_is_read_in_one_pass() {
        let (mut reader, piece, pieces) = (Reader::default(), "word ".repeat(20), 50_000);
        let mut read = |chunk: Value| reader.read(&Members::read(chunk.to_string().as_bytes()).unwrap());
        read(json!({ "type": "text-start", "id": "0" }));
        for _ in 0..pieces {
            read(json!({ "type": "text-delta", "id": "0", "delta": piece }));
        }
        read(json!({ "type": "text-end", "id": "0" }));
        let parts = serde_json::to_value(reader.finish()).unwrap();
        assert_eq!(parts, json!([{ "type": "text", "text": piece.repeat(pieces), "state": "done" }]));
    }
}
