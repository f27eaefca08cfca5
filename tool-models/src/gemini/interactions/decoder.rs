//! The decoder of streams of the Interactions API: it turns events into deltas.

use std::{borrow::Cow, mem};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::super::{Signed, Tokens, read_part};
use crate::{
    calls::Calls,
    error::{self, protocol_error},
    http::response::Decode,
    lenient::{Key, if_fits, is_end_mark},
};
use tool_runtime::{
    message::{Message, ProviderPart, ProviderPartKind, Signature},
    model::{Delta, FinishReason, ModelError, ModelErrorKind},
    toolset::{ListFormat, ToolList},
};

/// A decoder of the stream that the Interactions API sends for one request.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    origin: String,
    /// The steps with their indices, in the order in which they began.
    steps: Vec<(Option<Key>, Step)>,
    /// The failure that the status names. A later event may have the reason.
    failure: Option<ModelError>,
    is_over: bool,
}

#[derive(Debug)]
enum Step {
    /// Text of the model, and what else it makes.
    Output,
    Thought {
        is_signed: bool,
    },
    Call(usize),
    /// A step of a tool that Google runs.
    Provider(ProviderStep),
    Skipped,
    Ended,
}

impl Decoder {
    /// Creates a decoder of the response to a request with these messages and tools.
    pub fn new(messages: &[Message], tools: &ToolList) -> Self {
        Self {
            calls: Calls::new(tools, ListFormat::GeminiInteractions, messages),
            origin: String::new(),
            steps: Vec::new(),
            failure: None,
            is_over: false,
        }
    }

    /// Sets the origin of the response's signatures and of the steps of Google's tools ([`Signature::origin`]). The default is empty.
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    fn apply_event(&mut self, event: Event<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        match event.kind {
            EventType::StepStart => self.begin_step(event.index, event.step.ok_or_else(|| lacks("step"))?, out),
            EventType::StepDelta => self.apply_piece(event.index, event.delta.ok_or_else(|| lacks("delta"))?, out),
            EventType::StepStop => {
                self.end_step(event.index.as_ref(), out);
                Ok(())
            }
            EventType::InteractionCompleted => {
                self.finish_turn(event.interaction.ok_or_else(|| lacks("interaction"))?, out)
            }
            EventType::StatusUpdate => {
                let failure = find_failure(event.status.as_deref().unwrap_or_default(), None);
                self.failure = failure.or_else(|| self.failure.take());
                Ok(())
            }
            EventType::Error | EventType::Other => Ok(()),
        }
    }

    /// Returns the position of the last step with this index. An event without an index belongs to the last step.
    fn find(&self, index: Option<&Key>) -> Option<usize> {
        self.steps.iter().rposition(|(known, _)| index.is_none() || known.as_ref() == index)
    }

    /// Begins a step. A step with the index of an open one ends that.
    fn begin_step(&mut self, index: Option<Key>, json: &RawValue, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.steps.iter().any(|(known, _)| *known == index) {
            self.end_step(index.as_ref(), out);
        }
        let start: StepStart<'_> = read_part(json, "step")?;
        if let Some(error) = error::read_error_member(start.error) {
            return Err(error);
        }
        let step = match &*start.r#type {
            "model_output" => {
                for item in start.content.into_iter().flatten() {
                    self.push_output(item, out)?;
                }
                Step::Output
            }
            "thought" => {
                // Even an empty delta begins a part of reasoning, so the signature does not join that of the previous part.
                out.push(Delta::Reasoning(start.summary.into_iter().flatten().filter_map(|item| item.text).collect()));
                let mut is_signed = false;
                push_thought_signature(&self.origin, start.signature, &mut is_signed, out);
                Step::Thought { is_signed }
            }
            "function_call" => {
                if let Some(signature) = start.signature.filter(|signature| !signature.is_empty()) {
                    out.push(Delta::Reasoning(String::new()));
                    out.push(Signed::Call.mark(&self.origin, &signature));
                }
                let id = start.id.as_ref().map_or("", Key::as_str);
                let call = self.calls.start(id, &start.name.unwrap_or_default(), out);
                // The arguments of a call that streams them are an empty object at first.
                let arguments = start.arguments.map(RawValue::get).unwrap_or_default();
                if !arguments.chars().filter(|c| !c.is_whitespace()).eq("{}".chars()) {
                    self.calls.push(call, arguments.to_owned(), out);
                }
                Step::Call(call)
            }
            _ => ProviderStep::new(json).map_or(Step::Skipped, Step::Provider),
        };
        self.steps.push((index, step));
        Ok(())
    }

    fn apply_piece(&mut self, index: Option<Key>, json: &RawValue, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let at = self.find(index.as_ref());
        match at.map(|at| &mut self.steps[at].1) {
            None | Some(Step::Ended) => {
                // The server did not announce the step. Only text needs no announcement.
                if read_part::<Typed<'_>>(json, "delta")?.r#type != "text" {
                    let index = index.as_ref().map_or("", Key::as_str);
                    return Err(protocol_error(&format!("an event belongs to step {index}, which is not open")));
                }
                self.push_output(json, out)?;
                self.steps.push((index, Step::Output));
            }
            Some(Step::Output) => self.push_output(json, out)?,
            Some(Step::Thought { is_signed }) => {
                let piece: ThoughtPiece = read_part(json, "delta")?;
                if let Some(text) = piece.content.and_then(|content| content.text).filter(|text| !text.is_empty()) {
                    out.push(Delta::Reasoning(text));
                }
                push_thought_signature(&self.origin, piece.signature, is_signed, out);
            }
            Some(Step::Call(call)) => {
                let piece: ArgumentsPiece = read_part(json, "delta")?;
                self.calls.push(*call, piece.arguments.unwrap_or_default(), out);
            }
            Some(Step::Provider(step)) => step.push(read_part(json, "delta")?),
            Some(Step::Skipped) => {}
        }
        Ok(())
    }

    /// Adds a piece of the model's output: text, citations, or what has no delta of its own, such as a picture.
    fn push_output(&self, json: &RawValue, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let piece: OutputPiece<'_> = read_part(json, "output")?;
        let provided = |name: &str, block: &str| {
            Delta::Provider(ProviderPart::new(&self.origin, "", name, ProviderPartKind::Result, block))
        };
        match &*piece.r#type {
            "text" => out.extend(piece.text.filter(|text| !text.is_empty()).map(Delta::Text)),
            "text_annotation" | "text_annotation_delta" => {}
            kind => out.push(provided(kind, &format!(r#"{{"type":"model_output","content":[{}]}}"#, json.get()))),
        }
        for annotation in piece.annotations.into_iter().flatten() {
            let name = read_part::<Typed<'_>>(annotation, "annotation")?.r#type;
            out.push(provided(&name, annotation.get()));
        }
        Ok(())
    }

    /// Ends a step. Does nothing if the step is not open, because a server may repeat its end.
    fn end_step(&mut self, index: Option<&Key>, out: &mut Vec<Delta>) {
        let Some(at) = self.find(index) else { return };
        match mem::replace(&mut self.steps[at].1, Step::Ended) {
            Step::Call(call) => self.calls.end(call, out),
            Step::Provider(step) => out.push(Delta::Provider(step.into_part(&self.origin))),
            Step::Output | Step::Thought { .. } | Step::Skipped | Step::Ended => {}
        }
    }

    fn finish_turn(&mut self, end: Interaction, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let status = end.status.unwrap_or_else(|| "completed".to_owned());
        if let Some(error) = find_failure(&status, end.error.as_ref()).or_else(|| self.failure.take()) {
            return Err(error);
        }
        let reason = match status.as_str() {
            // An interaction is also `completed` beside a call.
            "completed" | "requires_action" if self.calls.len() > 0 => FinishReason::ToolCalls,
            "completed" => FinishReason::Stop,
            "requires_action" => {
                let message = "the provider waits for an action, but asked for no call of a tool on offer";
                return Err(protocol_error(message));
            }
            "incomplete" => FinishReason::Length,
            _ => FinishReason::Other(status),
        };
        for (_, step) in mem::take(&mut self.steps) {
            if let Step::Provider(step) = step {
                out.push(Delta::Provider(step.into_part(&self.origin)));
            }
        }
        if reason.allows_calls() {
            self.calls.check_open()?;
        }
        self.is_over = true;
        self.calls.finish(reason.allows_calls(), out)?;
        out.extend(end.usage.map(|usage| Delta::Usage(Tokens::read(&usage).into())));
        out.push(Delta::Finish(reason));
        Ok(())
    }
}

/// Adds the signature of a thought, or the next piece of it.
fn push_thought_signature(origin: &str, signature: Option<String>, is_signed: &mut bool, out: &mut Vec<Delta>) {
    let Some(signature) = signature.filter(|signature| !signature.is_empty()) else { return };
    out.push(if mem::replace(is_signed, true) {
        Delta::ReasoningSignature(Signature::new(origin, signature))
    } else {
        Signed::Thought.mark(origin, &signature)
    });
}

impl Decode for Decoder {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.is_over || data.is_empty() || is_end_mark(data) {
            return Ok(Vec::new());
        }
        let event: Event<'_> = error::read_event(data, "one of the Interactions API")?;
        if matches!(event.kind, EventType::Error) {
            return Err(error::read_stream_error(data));
        }
        if let Some(error) = error::read_error_member(event.error) {
            return Err(error);
        }
        if matches!(event.kind, EventType::Other) && event.interaction.is_none() {
            return error::find_stream_error(data).map_or(Ok(Vec::new()), Err);
        }
        let mut out = Vec::new();
        self.apply_event(event, &mut out)?;
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        if self.is_over { Ok(Vec::new()) } else { Err(self.failure.take().unwrap_or_else(error::cut_off_error)) }
    }
}

fn lacks(member: &str) -> ModelError {
    protocol_error(&format!("an event has no `{member}`"))
}

/// Returns the error of an interaction that ended with an error, if it did. `error` is what the provider says about it.
fn find_failure(status: &str, error: Option<&Value>) -> Option<ModelError> {
    match status {
        "failed" => Some(failed_error(error)),
        "cancelled" => Some(ModelError::new(ModelErrorKind::Unavailable, "the provider cancelled the interaction")),
        _ => None,
    }
}

fn failed_error(error: Option<&Value>) -> ModelError {
    let reported = error.and_then(|error| error::find_stream_error(&json!({ "error": error }).to_string()));
    let unnamed = || ModelError::new(ModelErrorKind::Unavailable, "the provider could not complete the interaction");
    reported.unwrap_or_else(unnamed)
}

/// A step of a tool that Google runs. Its events have complete members, of which later ones replace earlier ones.
#[derive(Debug)]
struct ProviderStep {
    step: Map<String, Value>,
    /// The arguments of a call that have arrived in pieces.
    arguments: String,
}

impl ProviderStep {
    /// Creates the state of a step of a tool that Google runs. Returns `None` for any other step.
    fn new(json: &RawValue) -> Option<Self> {
        let step: Map<String, Value> = serde_json::from_str(json.get()).ok()?;
        let kind = step.get("type")?.as_str()?;
        let is_of_tool = (kind.ends_with("_call") || kind.ends_with("_result")) && kind != "function_result";
        is_of_tool.then(|| Self { step, arguments: String::new() })
    }

    fn push(&mut self, piece: Map<String, Value>) {
        for (member, value) in piece {
            match (member.as_str(), value) {
                ("type", _) | ("signature", Value::Null) => {}
                ("arguments", Value::String(text)) => self.arguments.push_str(&text),
                (_, value) => {
                    self.step.insert(member, value);
                }
            }
        }
    }

    fn into_part(mut self, origin: &str) -> ProviderPart {
        if let Ok(arguments @ Value::Object(_)) = serde_json::from_str(&self.arguments) {
            self.step.insert("arguments".to_owned(), arguments);
        }
        let text = |member: &str| self.step.get(member).and_then(Value::as_str).unwrap_or_default();
        let (tool, id, kind) = match text("type").strip_suffix("_call") {
            Some(tool) => (tool, text("id"), ProviderPartKind::Call),
            None => {
                let has_failed = self.step.get("is_error") == Some(&Value::Bool(true));
                let kind = if has_failed { ProviderPartKind::Failure } else { ProviderPartKind::Result };
                (text("type").strip_suffix("_result").unwrap_or_default(), text("call_id"), kind)
            }
        };
        let name = if text("name").is_empty() { tool } else { text("name") };
        ProviderPart::new(origin, id, name, kind, json!(self.step).to_string())
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(default, rename = "event_type")]
    kind: EventType,
    index: Option<Key>,
    #[serde(borrow)]
    step: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "if_fits")]
    interaction: Option<Interaction>,
    #[serde(default, deserialize_with = "if_fits")]
    status: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
enum EventType {
    #[serde(rename = "step.start")]
    StepStart,
    #[serde(rename = "step.delta")]
    StepDelta,
    #[serde(rename = "step.stop")]
    StepStop,
    #[serde(rename = "interaction.status_update")]
    StatusUpdate,
    #[serde(rename = "interaction.completed")]
    InteractionCompleted,
    #[serde(rename = "error")]
    Error,
    /// `interaction.created`, and future events.
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct StepStart<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    id: Option<Key>,
    #[serde(default, deserialize_with = "if_fits")]
    name: Option<String>,
    #[serde(default, deserialize_with = "if_fits")]
    signature: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(default, deserialize_with = "if_fits")]
    summary: Option<Vec<TextItem>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextItem {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

#[derive(Deserialize)]
struct OutputPiece<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    text: Option<String>,
    #[serde(borrow)]
    annotations: Option<Vec<&'a RawValue>>,
}

/// A piece of a thought: more of its summary, or its signature.
#[derive(Deserialize)]
struct ThoughtPiece {
    #[serde(default, deserialize_with = "if_fits")]
    content: Option<TextItem>,
    #[serde(default, deserialize_with = "if_fits")]
    signature: Option<String>,
}

#[derive(Deserialize)]
struct ArgumentsPiece {
    #[serde(default, deserialize_with = "if_fits")]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Interaction {
    #[serde(default, deserialize_with = "if_fits")]
    status: Option<String>,
    usage: Option<Value>,
    error: Option<Value>,
}
