//! Turns of a model in the wire format of each provider, as a server streams them.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// A wire format of the requests and streams of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's Responses API.
    Responses,
    /// Gemini's Interactions API.
    Interactions,
    /// Gemini's `streamGenerateContent`.
    GenerateContent,
}

/// A part of a turn.
#[derive(Clone, Debug)]
pub enum StreamPart {
    /// Reasoning before what follows.
    Reasoning {
        /// The text.
        text: String,
        /// The data that the provider wants back; empty if there is none. In chat completions and in `streamGenerateContent`, it belongs to
        /// the next part.
        seal: String,
    },
    /// Text for the person.
    Text(String),
    /// A call of a tool of the application.
    Call {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// An object as JSON text.
        arguments: String,
    },
}

impl StreamPart {
    /// Creates reasoning.
    pub fn reasoning(text: &str, seal: &str) -> Self {
        Self::Reasoning { text: text.to_owned(), seal: seal.to_owned() }
    }

    /// Creates a call.
    pub fn call(id: &str, name: &str, arguments: &str) -> Self {
        Self::Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
    }
}

impl WireFormat {
    /// Every format.
    pub const ALL: [Self; 5] =
        [Self::Chat, Self::Anthropic, Self::Responses, Self::Interactions, Self::GenerateContent];

    /// Returns data that only the servers of this format can read, for [`StreamPart::Reasoning`].
    pub fn seal(self) -> &'static str {
        match self {
            Self::Chat => "CiQChatGoogle",
            Self::Anthropic => "EqQAnthropic",
            Self::Responses => "gAAAAResponsesOpenai",
            Self::Interactions => "CiQInteractionsGoogle",
            Self::GenerateContent => "CiQGenerateContentGoogle",
        }
    }

    /// Returns the events of a turn that ends well. Texts, reasoning and arguments arrive in pieces of at most `piece` bytes.
    pub fn events(self, parts: &[StreamPart], piece: usize) -> Vec<Value> {
        match self {
            Self::Chat => chat(parts, piece),
            Self::Anthropic => anthropic(parts, piece),
            Self::Responses => responses(parts, piece),
            Self::Interactions => interactions(parts, piece),
            Self::GenerateContent => generate_content(parts, piece),
        }
    }
}

/// Returns the pieces of `text`, each of at most `length` bytes, or of one character.
fn pieces(mut text: &str, length: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let first = text.chars().next()?.len_utf8();
        let (piece, rest) = text.split_at(text.floor_char_boundary(length).max(first));
        text = rest;
        Some(piece)
    })
}

fn has_calls(parts: &[StreamPart]) -> bool {
    parts.iter().any(|part| matches!(part, StreamPart::Call { .. }))
}

fn chat(parts: &[StreamPart], piece: usize) -> Vec<Value> {
    let choice =
        |delta: Value| json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]});
    let mut events = vec![choice(json!({"role": "assistant", "content": ""}))];
    let (mut calls, mut pending) = (0, "");
    for part in parts {
        match part {
            StreamPart::Reasoning { text, seal } => {
                pending = seal;
                events.extend(pieces(text, piece).map(|text| choice(json!({"reasoning_content": text}))));
            }
            StreamPart::Text(text) => {
                events.extend(pieces(text, piece).map(|text| choice(json!({"content": text}))));
            }
            StreamPart::Call { id, name, arguments } => {
                let mut start =
                    json!({"index": calls, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
                let seal = std::mem::take(&mut pending);
                if !seal.is_empty() {
                    start["extra_content"] = json!({"google": {"thought_signature": seal}});
                }
                events.push(choice(json!({"tool_calls": [start]})));
                let more = |text| choice(json!({"tool_calls": [{"index": calls, "function": {"arguments": text}}]}));
                events.extend(pieces(arguments, piece).map(more));
                calls += 1;
            }
        }
    }
    let reason = if calls > 0 { "tool_calls" } else { "stop" };
    events.push(json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    events.push(json!({"id": "c", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}));
    events
}

fn anthropic(parts: &[StreamPart], piece: usize) -> Vec<Value> {
    let usage = json!({"input_tokens": 7, "output_tokens": 1});
    let mut events =
        vec![json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "usage": usage}})];
    for (at, part) in parts.iter().enumerate() {
        let (block, deltas): (_, Vec<Value>) = match part {
            StreamPart::Reasoning { text, seal } => {
                let text = pieces(text, piece).map(|text| json!({"type": "thinking_delta", "thinking": text}));
                let seal = pieces(seal, usize::MAX).map(|seal| json!({"type": "signature_delta", "signature": seal}));
                (json!({"type": "thinking", "thinking": "", "signature": ""}), text.chain(seal).collect())
            }
            StreamPart::Text(text) => {
                let text = pieces(text, piece).map(|text| json!({"type": "text_delta", "text": text}));
                (json!({"type": "text", "text": ""}), text.collect())
            }
            StreamPart::Call { id, name, arguments } => {
                let text =
                    pieces(arguments, piece).map(|text| json!({"type": "input_json_delta", "partial_json": text}));
                (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), text.collect())
            }
        };
        events.push(json!({"type": "content_block_start", "index": at, "content_block": block}));
        let delta = |delta| json!({"type": "content_block_delta", "index": at, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": at}));
    }
    let reason = if has_calls(parts) { "tool_use" } else { "end_turn" };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn responses(parts: &[StreamPart], piece: usize) -> Vec<Value> {
    // No two responses have items with the same ids.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let response = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut events =
        vec![json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}})];
    let mut output = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let (mut start, end, kind, place, text) = match part {
            StreamPart::Reasoning { text, seal } => {
                let summary = if text.is_empty() { json!([]) } else { json!([{"type": "summary_text", "text": text}]) };
                let mut end = json!({"id": format!("rs_{response}_{at}"), "type": "reasoning", "summary": summary});
                if !seal.is_empty() {
                    end["encrypted_content"] = json!(seal);
                }
                let start = json!({"id": format!("rs_{response}_{at}"), "type": "reasoning", "summary": []});
                (start, end, "reasoning_summary_text", "summary_index", text)
            }
            StreamPart::Text(text) => {
                let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
                let message = |content: Value| json!({"id": format!("msg_{response}_{at}"), "type": "message", "role": "assistant", "content": content});
                (message(json!([])), message(content), "output_text", "content_index", text)
            }
            StreamPart::Call { id, name, arguments } => {
                let call = |text: &str| json!({"id": format!("fc_{response}_{at}"), "type": "function_call", "call_id": id, "name": name, "arguments": text});
                (call(""), call(arguments), "function_call_arguments", "", arguments)
            }
        };
        start["status"] = json!("in_progress");
        events.push(json!({"type": "response.output_item.added", "output_index": at, "item": start}));
        let mut event = |kind: &str, member: &str, text: &str| {
            let mut event = json!({"type": kind, "item_id": start["id"], "output_index": at, member: text});
            if !place.is_empty() {
                event[place] = json!(0);
            }
            events.push(event);
        };
        pieces(text, piece).for_each(|text| event(&format!("response.{kind}.delta"), "delta", text));
        if !text.is_empty() {
            event(&format!("response.{kind}.done"), if place.is_empty() { "arguments" } else { "text" }, text);
        }
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": end}));
        output.push(end);
    }
    let usage = json!({"input_tokens": 7, "output_tokens": 5, "total_tokens": 12});
    let response = json!({"id": "r", "status": "completed", "output": output, "usage": usage});
    events.push(json!({"type": "response.completed", "response": response}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn interactions(parts: &[StreamPart], piece: usize) -> Vec<Value> {
    let mut events = vec![
        json!({"event_type": "interaction.created", "interaction": {"id": "", "status": "in_progress", "object": "interaction"}}),
    ];
    for (at, part) in parts.iter().enumerate() {
        let (step, deltas): (_, Vec<Value>) = match part {
            StreamPart::Reasoning { text, seal } => {
                let text = pieces(text, piece)
                    .map(|text| json!({"type": "thought_summary", "content": {"type": "text", "text": text}}));
                let seal = pieces(seal, usize::MAX).map(|seal| json!({"type": "thought_signature", "signature": seal}));
                (json!({"type": "thought"}), text.chain(seal).collect())
            }
            StreamPart::Text(text) => {
                let text = pieces(text, piece).map(|text| json!({"type": "text", "text": text}));
                (json!({"type": "model_output"}), text.collect())
            }
            StreamPart::Call { id, name, arguments } => {
                let text = pieces(arguments, piece).map(|text| json!({"type": "arguments_delta", "arguments": text}));
                (
                    json!({"type": "function_call", "id": id, "name": name, "arguments": {}, "signature": ""}),
                    text.collect(),
                )
            }
        };
        events.push(json!({"event_type": "step.start", "index": at, "step": step}));
        events.extend(deltas.into_iter().map(|delta| json!({"event_type": "step.delta", "index": at, "delta": delta})));
        events.push(json!({"event_type": "step.stop", "index": at}));
    }
    let status = if has_calls(parts) { "requires_action" } else { "completed" };
    let usage = json!({"total_input_tokens": 7, "total_output_tokens": 5, "total_thought_tokens": 0});
    let interaction = json!({"id": "", "status": status, "usage": usage, "object": "interaction"});
    events.push(json!({"event_type": "interaction.completed", "interaction": interaction}));
    events
}

fn generate_content(parts: &[StreamPart], piece: usize) -> Vec<Value> {
    let event = |part: Value| json!({"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]});
    let mut events = Vec::new();
    let mut pending = "";
    let signed = |mut part: Value, seal: &mut &str| {
        let seal = std::mem::take(seal);
        if !seal.is_empty() {
            part["thoughtSignature"] = json!(seal);
        }
        event(part)
    };
    for part in parts {
        match part {
            StreamPart::Reasoning { text, seal } => {
                events.extend(pieces(text, piece).map(|text| event(json!({"text": text, "thought": true}))));
                pending = seal;
            }
            StreamPart::Text(text) => {
                events.extend(pieces(text, piece).map(|text| signed(json!({"text": text}), &mut pending)));
            }
            StreamPart::Call { id, name, arguments } => {
                let arguments: Value = serde_json::from_str(arguments).expect("arguments are JSON");
                let mut call = json!({"name": name, "args": arguments});
                if !id.is_empty() {
                    call["id"] = json!(id);
                }
                events.push(signed(json!({"functionCall": call}), &mut pending));
            }
        }
    }
    let mut last = signed(json!({"text": ""}), &mut pending);
    last["candidates"][0]["finishReason"] = json!("STOP");
    last["usageMetadata"] = json!({"promptTokenCount": 7, "candidatesTokenCount": 5});
    events.push(last);
    events
}
