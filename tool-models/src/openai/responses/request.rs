//! The body of a request of the Responses API.

use std::mem;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json, value::RawValue};

use crate::calls::{normalize_arguments, wrap_arguments};
use crate::conversation::{CONTINUATION, CallIds, NO_CONTENT, NO_REASON, OPENING, RESPONSES_IDS, is_blank, pair_calls};
use crate::media::{PartContent, content_of, file_name};
use crate::openai::{
    OpenAi, effort,
    texts::{PARAGRAPH, needs_mark},
};
use crate::structured::Structured;
use tool_runtime::{
    message::{AssistantPart, MediaKind, MediaRef, Message, Part, Signature, SourceRef, ToolMessage},
    model::{Model, Request, ToolChoice},
    toolset::ListFormat,
};

/// The member of a message that tells a commentary from the final answer.
const PHASE: &str = "phase";

/// The value of `include` with which a response has its reasoning, encrypted.
const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<InputItem<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<Value>,
    /// The log is the state, so the server stores nothing.
    store: bool,
    stream: bool,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// An item of the input.
#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'a> {
    Message {
        role: &'static str,
        #[serde(serialize_with = "serialize_content")]
        content: Vec<Value>,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    CallOrOutput(Value),
    Reasoning(&'a RawValue),
    /// An item of the provider's own tools, unchanged.
    Provider(&'a RawValue),
}

impl InputItem<'_> {
    fn message(role: &'static str, content: Vec<Value>) -> Self {
        Self::Message { role, content, extra: Map::new() }
    }

    /// Returns the content, if the item is a message of `role`.
    fn content_of(&mut self, role: &str) -> Option<&mut Vec<Value>> {
        match self {
            Self::Message { role: own, content, .. } if *own == role => Some(content),
            _ => None,
        }
    }
}

const SYSTEM: &str = "system";
const USER: &str = "user";
const ASSISTANT: &str = "assistant";

fn serialize_content<S: Serializer>(parts: &[Value], serializer: S) -> Result<S::Ok, S::Error> {
    join_texts(parts, PARAGRAPH).serialize(serializer)
}

/// Returns the parts as one text if all are texts. Servers need not take a list.
fn join_texts(parts: &[Value], separator: &str) -> Value {
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    texts.map_or_else(|| parts.into(), |texts| texts.join(separator).into())
}

fn text_part(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

/// Writes the body of a request.
pub fn write_body(model: &OpenAi, request: &Request<'_>) -> Vec<u8> {
    write(model, request, true)
}

/// Writes the body of a request without what only its origin can read: reasoning, and items of the provider's own tools. It does not
/// ask for encrypted reasoning either.
pub fn write_plain_body(model: &OpenAi, request: &Request<'_>) -> Vec<u8> {
    write(model, request, false)
}

fn write(model: &OpenAi, request: &Request<'_>, with_own: bool) -> Vec<u8> {
    let structured = model.structured(request, ListFormat::Responses);
    let request = &structured.as_ref().map_or(*request, |structured| structured.rest(request));
    let settings = request.settings;
    let has_tools = !request.tools.is_empty_in(ListFormat::Responses);
    let messages = wrap_arguments(pair_calls(request.messages), request.tools, ListFormat::Responses);
    let ids = CallIds::new(&messages, &RESPONSES_IDS);
    let ids = if model.provider().is_none() { ids.except_signed() } else { ids };
    let mut extra = model.extra.clone();
    let effort = settings.reasoning_effort;
    let effort = effort.and_then(|effort| effort::in_responses(&model.base_url, &model.model, effort));
    if let Some(name) = effort {
        set_effort(&mut extra, name);
    }
    if let Some(structured) = &structured {
        set_format(&mut extra, structured);
    }
    let include = include(extra.remove("include"), with_own, model.can_encrypt_reasoning());
    let mut input = Input { model, items: Vec::new(), origin: with_own.then(|| model.origin()) };
    input.push_messages(&messages, &ids);
    let body = Body {
        model: &model.model,
        input: input.finish(),
        tools: has_tools.then(|| request.tools.json(ListFormat::Responses)),
        tool_choice: if has_tools { convert_choice(request.tool_choice) } else { None },
        parallel_tool_calls: settings.allow_parallel_calls.filter(|_| has_tools),
        max_output_tokens: settings.max_tokens.or(model.max_tokens),
        temperature: settings.temperature.filter(|_| !effort::excludes_temperature(&model.base_url, effort)),
        include,
        store: false,
        stream: true,
        extra,
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON are JSON")
}

/// Sets the effort of reasoning, unless the application set it in `reasoning`.
fn set_effort(extra: &mut Map<String, Value>, name: &str) {
    let reasoning = extra.entry("reasoning").or_insert_with(|| json!({}));
    if let Some(reasoning) = reasoning.as_object_mut() {
        reasoning.entry("effort").or_insert_with(|| name.into());
    }
}

/// Adds the format of the answer to the member `text`, which the application may have set.
fn set_format(extra: &mut Map<String, Value>, structured: &Structured) {
    let (schema, strict) = structured.schema();
    let text = extra.entry("text").or_insert_with(|| json!({}));
    if let Some(text) = text.as_object_mut() {
        let format = json!({ "type": "json_schema", "name": structured.name(), "schema": schema, "strict": strict });
        text.insert("format".to_owned(), format);
    }
}

/// Returns the list `include`: what the application wants, and the encrypted reasoning where the server `knows` it. An empty list of
/// the application stays empty. Without `with_own`, the list does not ask for reasoning.
fn include(wanted: Option<Value>, with_own: bool, knows: bool) -> Vec<Value> {
    let mut include = match wanted {
        Some(Value::Array(list)) if list.is_empty() => return list,
        Some(Value::Array(list)) => list,
        Some(other) => vec![other],
        None => Vec::new(),
    };
    let asks = include.iter().any(|name| name == ENCRYPTED_REASONING);
    if !with_own {
        include.retain(|name| name != ENCRYPTED_REASONING);
    } else if knows && !asks {
        include.push(ENCRYPTED_REASONING.into());
    }
    include
}

fn convert_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some("required".into()),
        ToolChoice::None => Some("none".into()),
        ToolChoice::Tool(name) => Some(json!({ "type": "function", "name": name })),
    }
}

/// The items of a request so far.
struct Input<'a> {
    model: &'a OpenAi,
    items: Vec<InputItem<'a>>,
    /// The origin whose own data the request may have; `None` if it must have none.
    origin: Option<String>,
}

impl<'a> Input<'a> {
    fn push_messages(&mut self, messages: &'a [Message], ids: &'a CallIds<'_>) {
        for message in messages {
            match message {
                Message::System { text } => self.push_system(text),
                Message::User { content } => self.push_user(self.convert_parts(content)),
                Message::Assistant { content } => self.push_turn(content, ids),
                Message::Tool(result) => self.items.push(InputItem::CallOrOutput(self.convert_result(result, ids))),
            }
        }
    }

    fn convert_parts(&self, parts: &[Part]) -> Vec<Value> {
        let takes = |media: &MediaRef<'_>| self.model.takes_media(media);
        parts.iter().filter_map(|part| content_of(part, takes)).map(convert_part).collect()
    }

    /// Converts the result of a call. The API has no mark of an error, so the text of one begins with `error`, unless it is a
    /// rejection.
    fn convert_result(&self, result: &ToolMessage, ids: &CallIds<'_>) -> Value {
        let mut parts = self.convert_parts(&result.content);
        if parts.is_empty() {
            parts.push(text_part(if result.is_error { NO_REASON } else { NO_CONTENT }));
        }
        if needs_mark(result) {
            match parts[0]["text"].as_str() {
                Some(text) => parts[0] = text_part(&format!("error: {text}")),
                None => parts.insert(0, text_part("error:")),
            }
        }
        let output = join_texts(&parts, "\n");
        json!({ "type": "function_call_output", "call_id": ids.get(&result.call_id), "output": output })
    }

    /// Adds a system message to the first one. The templates of local servers take none in between.
    fn push_system(&mut self, text: &'a str) {
        if is_blank(text) {
            return;
        }
        let part = text_part(text);
        match self.items.first_mut().and_then(|first| first.content_of(SYSTEM)) {
            Some(parts) => parts.push(part),
            None => self.items.insert(0, InputItem::message(SYSTEM, vec![part])),
        }
    }

    fn push_user(&mut self, parts: Vec<Value>) {
        match self.items.last_mut().and_then(|last| last.content_of(USER)) {
            Some(last) => last.extend(parts),
            None if parts.is_empty() => {}
            None => self.items.push(InputItem::message(USER, parts)),
        }
    }

    /// Adds a turn of the model. Reasoning needs an item after it, so the turn's last item is none.
    fn push_turn(&mut self, turn: &'a [AssistantPart], ids: &'a CallIds<'_>) {
        let first = self.items.len();
        let mut extra = Map::new();
        // The place of reasoning whose end came after the following items.
        let mut open_reasoning = None;
        for part in turn {
            match part {
                AssistantPart::Text { text } if is_blank(text) => {}
                AssistantPart::Text { text } => {
                    extra.retain(|name, _| name == PHASE);
                    let is_new = !extra.is_empty() || self.items.len() == first;
                    match self.items.last_mut().and_then(|last| last.content_of(ASSISTANT)) {
                        // The texts of one message have no separator.
                        Some(parts) if !is_new => {
                            let text = format!("{}{text}", parts[0]["text"].as_str().unwrap_or_default());
                            parts[0] = text_part(&text);
                        }
                        _ => self.items.push(InputItem::Message {
                            role: ASSISTANT,
                            content: vec![text_part(text)],
                            extra: mem::take(&mut extra),
                        }),
                    }
                }
                AssistantPart::Reasoning { text, signature } => match self.read_own(signature.as_ref()) {
                    None => open_reasoning = Some(self.items.len()),
                    // The server refuses the same item twice, which a conversation from outside may have. It refuses any for a model
                    // that does not reason, which may continue the chat of one that does.
                    Some(Own::Item(item)) if self.has(item) || !effort::may_reason(&self.model.model) => {}
                    Some(Own::Item(item)) => {
                        let place = open_reasoning.take().filter(|_| text.is_empty()).unwrap_or(self.items.len());
                        self.items.insert(place, InputItem::Reasoning(item));
                    }
                    Some(Own::Extra(more)) => extra = more,
                },
                AssistantPart::Call(call) => {
                    let mut item = mem::take(&mut extra);
                    item.retain(|name, _| name == "namespace" || name == "caller");
                    item.insert("type".to_owned(), "function_call".into());
                    item.insert("call_id".to_owned(), ids.get(&call.id).into());
                    item.insert("name".to_owned(), call.name.as_str().into());
                    item.insert("arguments".to_owned(), normalize_arguments(&call.arguments).into());
                    self.items.push(InputItem::CallOrOutput(item.into()));
                }
                AssistantPart::Provider(part) if Some(&part.provider) == self.origin.as_ref() => {
                    let item: Option<&RawValue> = serde_json::from_str(&part.block).ok();
                    self.items.extend(item.filter(|item| item.get().starts_with('{')).map(InputItem::Provider));
                }
                // An item of another provider means nothing here.
                AssistantPart::Provider(_) => {}
            }
        }
        while self.items.len() > first && matches!(self.items.last(), Some(InputItem::Reasoning(_))) {
            self.items.pop();
        }
    }

    fn has(&self, reasoning: &RawValue) -> bool {
        let is_same = |item: &InputItem<'_>| matches!(item, InputItem::Reasoning(own) if own.get() == reasoning.get());
        self.items.iter().any(is_same)
    }

    /// Reads a signature of this origin.
    fn read_own(&self, signature: Option<&'a Signature>) -> Option<Own<'a>> {
        #[derive(Deserialize)]
        struct Typed {
            r#type: Option<String>,
        }
        let signature = signature.filter(|signature| Some(&signature.origin) == self.origin.as_ref())?;
        let typed: Typed = serde_json::from_str(&signature.value).ok()?;
        match typed.r#type {
            Some(kind) if kind == "reasoning" => serde_json::from_str(&signature.value).ok().map(Own::Item),
            Some(_) => None,
            None => serde_json::from_str(&signature.value).ok().map(Own::Extra),
        }
    }

    /// Returns the items. The user begins, and the assistant is never last.
    fn finish(mut self) -> Vec<InputItem<'a>> {
        let mut is_of =
            |at: usize, role: &str| self.items.get_mut(at).is_some_and(|item| item.content_of(role).is_some());
        let first = usize::from(is_of(0, SYSTEM));
        if !is_of(first, USER) {
            self.items.insert(first, InputItem::message(USER, vec![text_part(OPENING)]));
        }
        let last = self.items.last_mut();
        if last.is_some_and(|last| !matches!(last, InputItem::CallOrOutput(_)) && last.content_of(USER).is_none()) {
            self.items.push(InputItem::message(USER, vec![text_part(CONTINUATION)]));
        }
        self.items
    }
}

/// Data that the origin of a turn gets back.
enum Own<'a> {
    /// An item of reasoning.
    Item(&'a RawValue),
    /// The members of the next message or call.
    Extra(Map<String, Value>),
}

fn convert_part(content: PartContent<'_>) -> Value {
    let media = match content {
        PartContent::Text(text) => return text_part(&text),
        PartContent::Media(media) => media,
    };
    match (media.kind, media.source) {
        (MediaKind::Image, _) => json!({ "type": "input_image", "image_url": media.to_url() }),
        (_, SourceRef::Url(url)) => json!({ "type": "input_file", "file_url": url }),
        _ => json!({ "type": "input_file", "filename": file_name(&media), "file_data": media.to_url() }),
    }
}
