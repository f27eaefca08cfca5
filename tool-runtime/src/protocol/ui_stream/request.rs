//! What a client sends, read leniently: what is unknown or of another type than expected is not there.

use std::fmt;

use serde_json::{Map, Value, value::RawValue};

use super::{SEALED, parts};
use crate::json;
use crate::message::Part;
use crate::protocol::whole::whole;
use crate::run::Decision;

/// What a client claims with one request.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The id of the chat.
    pub chat: String,
    /// Why the request was made.
    pub trigger: Trigger,
    /// The message that is edited, answered anew or gone on with.
    pub message_id: Option<String>,
    /// The messages of the history, without what tools did.
    pub messages: Vec<Said>,
    /// What the history says about calls, oldest first.
    pub claims: Vec<Claim>,
    /// Decisions beside the history, by the ids under which they were asked for: the field `decisions`, for what the
    /// client's own part of the protocol cannot say, such as an approval with other arguments.
    pub decisions: Vec<(String, Decision)>,
    /// Whether the answer goes on when the client leaves: the field `resumable`.
    pub resumable: bool,
    /// The sealed run, as the latest answer gave it.
    pub sealed: Option<String>,
}

/// Why a request was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// The user said something, or a call was decided about.
    #[default]
    Submit,
    /// The user wants another answer.
    Regenerate,
}

/// A message of the history.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Said {
    /// The client's id for it.
    pub id: Option<String>,
    /// Whether the user said it; the others are the assistant's.
    pub by_user: bool,
    /// Its texts and images.
    pub content: Vec<Part>,
}

/// What a client says about a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Claim {
    /// The call's id.
    pub call: String,
    /// What its arguments are.
    pub input: Option<Value>,
    /// The same as they are written, where `input` may have fewer digits.
    pub(super) written: Option<String>,
    /// What became of it.
    pub claimed: Claimed,
    /// Whether it is in the last message, which the request is then about.
    pub is_last: bool,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Claimed {
    /// Somebody answered a request.
    Answered {
        /// The request's id.
        approval: String,
        /// Whether the call is approved.
        approved: bool,
        /// Why.
        reason: Option<String>,
    },
    /// It has this output.
    Output(Value),
    /// It failed like this.
    Failed(String),
}

/// A body that is no request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestError {
    reason: String,
    wanted: &'static str,
}

const REQUEST: &str = "the JSON that the AI SDK's transport sends: an object with `id` and `messages`";
const SAID: &str = r#"`{"message": {"role": "user", "parts": [{"type": "text", "text": "…"}]}}`"#;

impl fmt::Display for RequestError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; expected {}", self.reason, self.wanted)
    }
}

impl std::error::Error for RequestError {}

impl ChatRequest {
    /// Reads a body.
    ///
    /// Fails only when it is no JSON object, or has no `id` or no list of `messages` (or one `message`, as clients send it
    /// that do not send their history).
    pub fn read(body: &[u8]) -> Result<Self, RequestError> {
        let wrong = |reason: String| RequestError { reason, wanted: REQUEST };
        let written = whole(body);
        let mut body = object(body).map_err(wrong)?;
        let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
        let chat = text("id").ok_or_else(|| wrong("`id`, the chat's id, is missing or no text".to_owned()))?;
        let trigger = match text("trigger").as_deref() {
            Some("regenerate-message") => Trigger::Regenerate,
            _ => Trigger::Submit,
        };
        let message_id = text("messageId");
        let resumable = body.get("resumable") == Some(&Value::Bool(true));
        let decisions = body.remove("decisions").map(decisions).unwrap_or_default();
        let messages = match (body.remove("messages"), body.remove("message")) {
            (Some(Value::Array(messages)), _) => messages,
            (None, Some(message @ Value::Object(_))) => vec![message],
            _ => return Err(wrong("`messages`, the list of the chat's messages, is missing or no list".to_owned())),
        };
        let mut request = Self { chat, trigger, message_id, decisions, resumable, ..Self::default() };
        request.messages.reserve(messages.len());
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.into_iter().enumerate() {
            if let Value::Object(message) = message {
                request.message(message, at == last);
            }
        }
        request.keep_digits(&String::from_utf8_lossy(&written));
        Ok(request)
    }

    /// Keeps the arguments of the claims as `body` has them, where a [`Value`] may have fewer digits.
    fn keep_digits(&mut self, body: &str) {
        if self.claims.is_empty() || !json::rounds(body) {
            return;
        }
        let list = |text: Option<String>| -> Vec<Box<RawValue>> {
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
        };
        let of = |text: &str, name: &str| {
            let member = json::members(text)?.into_iter().find(|(known, _)| known == name);
            member.map(|(_, value)| value)
        };
        let mut messages = list(of(body, "messages"));
        messages.extend(of(body, "message").and_then(|message| RawValue::from_string(message).ok()));
        for part in messages.iter().flat_map(|message| list(of(message.get(), "parts"))) {
            let call = of(part.get(), "toolCallId").and_then(|call| serde_json::from_str::<String>(&call).ok());
            let Some(input) = of(part.get(), "input").filter(|input| json::rounds(input)) else { continue };
            let value: Option<Value> = serde_json::from_str(&input).ok();
            for claim in &mut self.claims {
                if call.as_deref() == Some(&*claim.call) && claim.input == value {
                    claim.written = Some(input.clone());
                }
            }
        }
    }

    fn message(&mut self, mut message: Map<String, Value>, is_last: bool) {
        let by_user = match message.get("role").and_then(Value::as_str) {
            Some("user") => true,
            Some("assistant") => false,
            // A client has nothing to say in the application's name.
            _ => return,
        };
        let id = message.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned);
        if let Some(sealed) = message.get("metadata").and_then(|data| data.get(SEALED)).and_then(Value::as_str) {
            // An empty one says that the run could not be kept any more.
            self.sealed = Some(sealed.to_owned()).filter(|sealed| !sealed.is_empty());
        }
        let all = match message.remove("parts") {
            Some(Value::Array(parts)) => parts,
            // As clients wrote it before version 5.
            _ => message.get("content").into_iter().filter(|text| text.is_string()).map(parts::from_text).collect(),
        };
        let mut content = Vec::new();
        for part in all {
            let Value::Object(part) = part else { continue };
            if by_user {
                content.extend(parts::said(&part));
            } else if let Some(claim) = parts::claim(part, is_last, &mut content) {
                self.claims.push(claim);
            }
        }
        self.messages.push(Said { id, by_user, content });
    }

    /// The last message, if the user said it: what is to be answered.
    pub fn prompt(&self) -> Option<&Said> {
        self.messages.last().filter(|said| said.by_user && !said.content.is_empty())
    }
}

impl Said {
    /// Reads the body with which a client says something to an answer that is under way: an object whose `message` is a
    /// message of the user, formed as in the history of a request.
    ///
    /// Fails when it is anything else.
    pub fn read(body: &[u8]) -> Result<Self, RequestError> {
        let wrong = |reason: String| RequestError { reason, wanted: SAID };
        let Some(Value::Object(message)) = object(body).map_err(wrong)?.remove("message") else {
            return Err(wrong("`message` is missing or no object".to_owned()));
        };
        let mut request = ChatRequest::default();
        request.message(message, true);
        let said = request.messages.pop().filter(|said| said.by_user);
        said.ok_or_else(|| wrong("the `role` of `message` is not `user`".to_owned()))
    }
}

fn object(body: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice(&whole(body)) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err("the body is no object".to_owned()),
        Err(error) => Err(format!("the body is no JSON: {error}")),
    }
}

fn decisions(given: Value) -> Vec<(String, Decision)> {
    let Value::Object(given) = given else { return Vec::new() };
    given.into_iter().filter_map(|(id, decision)| Some((id, serde_json::from_value(decision).ok()?))).collect()
}
