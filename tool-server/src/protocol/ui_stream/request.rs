//! What a client sends, read leniently: what is unknown or of another type than expected is not there.

use std::fmt;

use serde_json::Value;

use super::{SEALED, parts};
use crate::protocol::members::{self, Members};
use crate::protocol::whole::whole;
use tool_runtime::message::Part;
use tool_runtime::run::Decision;

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
    /// Its arguments, as the client wrote them: their digits count.
    pub input: Option<String>,
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
    /// What is nested too deep to be read is left out, so that a chat goes on whose history has it.
    ///
    /// Fails only when it is no JSON object, or has no `id` or no list of `messages` (or one `message`, as clients send it
    /// that do not send their history).
    pub fn read(body: &[u8]) -> Result<Self, RequestError> {
        let wrong = |reason: String| RequestError { reason, wanted: REQUEST };
        let body = whole(body);
        let body = object(&body).map_err(wrong)?;
        let chat = body.text("id").ok_or_else(|| wrong("`id`, the chat's id, is missing or no text".to_owned()))?;
        let trigger = match body.text("trigger").as_deref() {
            Some("regenerate-message") => Trigger::Regenerate,
            _ => Trigger::Submit,
        };
        let messages = match (body.raw("messages").map(members::list), body.raw("message")) {
            (Some(Some(messages)), _) => messages,
            (None, Some(message)) if members::is(message, b'{') => vec![message],
            _ => return Err(wrong("`messages`, the list of the chat's messages, is missing or no list".to_owned())),
        };
        let mut request = Self {
            chat,
            trigger,
            message_id: body.text("messageId"),
            decisions: body.object("decisions").map(|given| decisions(&given)).unwrap_or_default(),
            resumable: body.value("resumable") == Some(true),
            ..Self::default()
        };
        request.messages.reserve(messages.len());
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.into_iter().enumerate() {
            if let Some(message) = Members::of(message) {
                request.message(&message, at == last);
            }
        }
        Ok(request)
    }

    fn message(&mut self, message: &Members<'_>, is_last: bool) {
        let by_user = match message.text("role").as_deref() {
            Some("user") => true,
            Some("assistant") => false,
            // A client has nothing to say in the application's name.
            _ => return,
        };
        let id = message.text("id").filter(|id| !id.is_empty());
        if let Some(sealed) = message.object("metadata").and_then(|data| data.text(SEALED)) {
            // An empty one says that the run could not be kept any more.
            self.sealed = Some(sealed).filter(|sealed| !sealed.is_empty());
        }
        let mut content = Vec::new();
        match message.raw("parts").and_then(members::list) {
            Some(parts) => {
                for part in parts.into_iter().filter_map(Members::of) {
                    if by_user {
                        content.extend(parts::said(&part));
                    } else if let Some(claim) = parts::claim(&part, is_last, &mut content) {
                        self.claims.push(claim);
                    }
                }
            }
            // As clients wrote it before version 5.
            None => content.extend(message.text("content").map(Part::text)),
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
        let body = whole(body);
        let Some(message) = object(&body).map_err(wrong)?.object("message") else {
            return Err(wrong("`message` is missing or no object".to_owned()));
        };
        let mut request = ChatRequest::default();
        request.message(&message, true);
        let said = request.messages.pop().filter(|said| said.by_user);
        said.ok_or_else(|| wrong("the `role` of `message` is not `user`".to_owned()))
    }
}

fn object(body: &[u8]) -> Result<Members<'_>, String> {
    Members::read(body).map_err(|error| {
        if error.is_data() { "the body is no object".to_owned() } else { format!("the body is no JSON: {error}") }
    })
}

fn decisions(given: &Members<'_>) -> Vec<(String, Decision)> {
    given.names().filter_map(|id| Some((id.to_owned(), given.value(id)?))).collect()
}
