//! The request of a client, and the match of its claims with a run. Reading is lenient: values that are unknown or have an
//! unexpected type are left out.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt,
};

use serde_json::Value;
use tool_runtime::message::{AssistantPart, Media, Message, Part};
use tool_runtime::run::{Call, CallId, Decision, Interrupt, InterruptId, InterruptKind, Run};
use tool_schema::json::is_echo;

use super::{SEALED, approval_id};
use crate::protocol::{
    json_object::{self, Members, replace_lone_surrogates},
    media::attached,
    parse_decision, settled_call,
};

/// A client's request, with its claims.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The id of the chat.
    pub chat: String,
    /// The reason for the request.
    pub trigger: Trigger,
    /// The message that the user edits, regenerates or continues.
    pub message_id: Option<String>,
    /// The messages of the history, without calls of tools.
    pub messages: Vec<ChatMessage>,
    /// The history's claims about calls, oldest first.
    pub claims: Vec<Claim>,
    /// Decisions from the field `decisions`, by the ids of their requests. The field is for decisions that the AI SDK's own
    /// protocol cannot express, such as an approval with other arguments.
    pub decisions: Vec<(String, Decision)>,
    /// The ids in the field `decisions` whose values are no decisions, such as an edit that is nested too deep.
    unreadable: Vec<String>,
    /// Set if the response goes on when the client leaves: the field `resumable`.
    pub resumable: bool,
    /// The sealed run from the latest response.
    pub sealed: Option<String>,
}

/// The reason for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// The user sent a message or a decision.
    #[default]
    Submit,
    /// The user wants another response.
    Regenerate,
}

/// A message of the history.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChatMessage {
    /// The client's id of the message.
    pub id: Option<String>,
    /// Set for the user's messages; the others are the assistant's.
    pub is_from_user: bool,
    /// Its texts, images and other files.
    pub content: Vec<Part>,
}

/// A client's claim about a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Claim {
    /// The call's id.
    pub call: String,
    /// The text of its arguments, exactly as the client sent it, because numbers are compared digit by digit.
    pub input: Option<String>,
    /// The claim: a result of the call, or an answer to a request for its approval.
    pub kind: ClaimKind,
    /// Set if the claim is in the last message.
    pub is_last: bool,
}

/// The kind of a claim: a result of a call, or an answer to the request for its approval.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimKind {
    /// A person has answered a request for approval.
    Answered {
        /// The request's id.
        approval: String,
        /// Set if the person approves the call.
        approved: bool,
        /// The reason for the answer.
        reason: Option<String>,
    },
    /// The call has this output.
    Output(Value),
    /// The call failed with this error.
    Failed(String),
}

/// The error for a body that is not a request.
#[derive(Debug)]
pub struct InvalidRequest {
    problem: Fault,
    wanted: &'static str,
}

/// The problem of a body.
#[derive(Debug)]
enum Fault {
    NotJson(serde_json::Error),
    Wrong(&'static str),
}

const REQUEST: &str = "the JSON that the AI SDK's transport sends: an object with `id` and `messages`";
const STEERING: &str = r#"`{"message": {"role": "user", "parts": [{"type": "text", "text": "…"}]}}`"#;

impl fmt::Display for InvalidRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Fault::NotJson(error) => write!(out, "the body is not JSON: {error}")?,
            Fault::Wrong(text) => out.write_str(text)?,
        }
        write!(out, "; expected {}", self.wanted)
    }
}

impl std::error::Error for InvalidRequest {}

impl ChatRequest {
    /// Reads a request from its body. Leaves out values that are nested too deep, so that a chat with such a history goes on.
    ///
    /// Fails when the body is not a JSON object or has no `id`. Also fails when `messages` is not a list, or is missing and
    /// there is no object `message`. Clients that do not send their history send one `message`.
    pub fn read(body: &[u8]) -> Result<Self, InvalidRequest> {
        let wrong = |problem| InvalidRequest { problem, wanted: REQUEST };
        let body = replace_lone_surrogates(body);
        let body = read_object(&body).map_err(wrong)?;
        let chat =
            body.text("id").ok_or_else(|| wrong(Fault::Wrong("`id`, the chat's id, is missing or not a string")))?;
        let trigger = match body.text("trigger").as_deref() {
            Some("regenerate-message") => Trigger::Regenerate,
            _ => Trigger::Submit,
        };
        let messages = match (body.raw("messages").map(json_object::list), body.raw("message")) {
            (Some(Some(messages)), _) => messages,
            (None, Some(message)) if json_object::begins_with(message, b'{') => vec![message],
            _ => {
                return Err(wrong(Fault::Wrong(
                    "`messages`, the list of the chat's messages, is missing or not a list",
                )));
            }
        };
        let mut request = Self {
            chat,
            trigger,
            message_id: body.text("messageId"),
            resumable: body.value("resumable") == Some(true),
            ..Self::default()
        };
        let decisions = body.object("decisions").unwrap_or_default();
        for id in decisions.names() {
            match decisions.value(id).and_then(|decision: Value| parse_decision(&decision).ok()) {
                Some(decision) => request.decisions.push((id.to_owned(), decision)),
                None => request.unreadable.push(id.to_owned()),
            }
        }
        request.messages.reserve(messages.len());
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.into_iter().enumerate() {
            if let Some(message) = Members::of(message) {
                request.read_message(&message, at == last);
            }
        }
        Ok(request)
    }

    fn read_message(&mut self, message: &Members<'_>, is_last: bool) {
        let is_from_user = match message.text("role").as_deref() {
            Some("user") => true,
            Some("assistant") => false,
            // A client must not speak for the application.
            _ => return,
        };
        let id = message.text("id").filter(|id| !id.is_empty());
        if let Some(sealed) = message.object("metadata").and_then(|data| data.text(SEALED)) {
            // An empty value means that the run could no longer be sealed.
            self.sealed = Some(sealed).filter(|sealed| !sealed.is_empty());
        }
        let mut content = Vec::new();
        match message.raw("parts").and_then(json_object::list) {
            Some(parts) => {
                for part in parts.into_iter().filter_map(Members::of) {
                    if is_from_user {
                        content.extend(user_part(&part));
                    } else if let Some(claim) = read_claim(&part, is_last, &mut content) {
                        self.claims.push(claim);
                    }
                }
            }
            // Clients before version 5 wrote messages like this.
            None => content.extend(message.text("content").map(Part::text)),
        }
        self.messages.push(ChatMessage { id, is_from_user, content });
    }

    /// Returns whether the last message has a text or an ended call of `messages`.
    pub(crate) fn knows_any(&self, messages: &[Message]) -> bool {
        let texts = self.messages.last().map_or(&[][..], |last| &last.content);
        let is_known = |part: &AssistantPart| match part {
            AssistantPart::Text { text } => texts.iter().any(|known| known.as_text() == Some(text)),
            AssistantPart::Call(call) => self.claims.iter().any(|claim| claim.is_last && claim.call == call.id),
            _ => false,
        };
        messages.iter().any(|message| matches!(message, Message::Assistant { content } if content.iter().any(is_known)))
    }

    /// Returns the prompt to respond to: the last message, if it is the user's and has content.
    pub fn prompt(&self) -> Option<&ChatMessage> {
        self.messages.last().filter(|last| last.is_from_user && !last.content.is_empty())
    }
}

impl ChatMessage {
    /// Reads the body of a steering request. It is an object whose `message` is a message of the user, in the same form as in a
    /// request's history.
    ///
    /// Fails when the body has any other form.
    pub fn read(body: &[u8]) -> Result<Self, InvalidRequest> {
        let wrong = |problem| InvalidRequest { problem, wanted: STEERING };
        let body = replace_lone_surrogates(body);
        let Some(message) = read_object(&body).map_err(wrong)?.object("message") else {
            return Err(wrong(Fault::Wrong("`message` is missing or not an object")));
        };
        let mut request = ChatRequest::default();
        request.read_message(&message, true);
        let last = request.messages.pop().filter(|last| last.is_from_user);
        last.ok_or_else(|| wrong(Fault::Wrong("the `role` of `message` is not `user`")))
    }
}

fn read_object(body: &[u8]) -> Result<Members<'_>, Fault> {
    Members::read(body).map_err(|error| {
        if error.is_data() { Fault::Wrong("the body is not a JSON object") } else { Fault::NotJson(error) }
    })
}

/// The text that the model reads in place of an unreadable output.
const UNREADABLE: &str = "the application's output is nested more than 127 levels deep and cannot be read";

/// Returns the content of a user's part: a text or a file.
fn user_part(part: &Members<'_>) -> Option<Part> {
    match part.text("type")?.as_str() {
        "text" => part.text("text").map(Part::text),
        "file" => Some(file_part(part)),
        _ => None,
    }
}

fn file_part(part: &Members<'_>) -> Part {
    // Clients cannot show a message with an empty address.
    let address = part.text("url").filter(|url| !url.is_empty());
    let mut media = Media::url(address.unwrap_or_else(|| "about:blank".to_owned()));
    let label = part.text("mediaType").filter(|label| !label.is_empty());
    media.media_type = label.or(media.media_type);
    media.name = part.text("filename").filter(|name| !name.is_empty());
    attached(media)
}

/// Returns the claim in an assistant's part about a call. A text is added to `content` instead.
fn read_claim(part: &Members<'_>, is_last: bool, content: &mut Vec<Part>) -> Option<Claim> {
    let kind = part.text("type")?;
    if kind == "text" {
        content.extend(user_part(part));
        return None;
    }
    if !kind.starts_with("tool-") && kind != "dynamic-tool" {
        return None;
    }
    let call = part.text("toolCallId")?;
    let kind = match part.text("state")?.as_str() {
        "approval-responded" => {
            let approval = part.object("approval")?;
            ClaimKind::Answered {
                approval: approval.text("id")?,
                approved: approval.value("approved")?,
                reason: approval.text("reason"),
            }
        }
        "output-available" if part.value("preliminary") != Some(true) => match part.raw("output") {
            // A client that claims an output without a value has one that JSON cannot represent, such as `undefined`.
            None => ClaimKind::Output(Value::Null),
            Some(output) => {
                json_object::value(output).map_or_else(|| ClaimKind::Failed(UNREADABLE.to_owned()), ClaimKind::Output)
            }
        },
        "output-error" => ClaimKind::Failed(part.text("errorText").unwrap_or_default()),
        _ => return None,
    };
    let input = part.raw("input").map(|input| input.get().to_owned());
    Some(Claim { call, input, kind, is_last })
}

/// A client's claims, matched with the run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MatchedClaims {
    /// The decisions, in the order of the model's calls.
    pub decisions: Vec<(InterruptId, Decision)>,
    /// Approvals whose arguments differ from those that the run asked about, or whose entry in the field `decisions` cannot be
    /// read. They have no effect.
    pub tampered: Vec<InterruptId>,
    /// The calls of the answers that came too late, in the last message and in the field `decisions`. For an answer in the
    /// message, also the id of its request. If the request has no other answers, also the calls whose results it repeats.
    pub settled: Vec<(CallId, Option<String>)>,
    /// The number of answers there that match no request. They are invented, or moved from another chat.
    pub unasked: usize,
}

/// Returns the claims of a request that `run` waits for, as decisions. All other claims have no effect.
pub fn match_claims(run: &Run, request: &ChatRequest) -> MatchedClaims {
    let mut matched = MatchedClaims::default();
    let mut used = HashSet::new();
    let claims = Claims::new(&request.claims);
    let read = request.decisions.iter().map(|(id, decision)| (id.as_str(), Ok(decision)));
    let beside: HashMap<_, _> = read.chain(request.unreadable.iter().map(|id| (id.as_str(), Err(Tampered)))).collect();
    for open in run.interrupts() {
        let Some(call) = run.call(open.id.call()) else { continue };
        let asked = approval_id(run.id(), open);
        let is_external = open.innermost().kind == InterruptKind::External;
        let claim = match open.kind {
            InterruptKind::External => claims.about(&asked, Some(call.id.as_str())),
            // A nested call: the client knows it by the id of its interrupt.
            _ => claims.about(&asked, is_external.then_some(&asked)),
        };
        used.insert(asked.clone());
        match read_decision(call, open, claim, beside.get(asked.as_str()).copied()) {
            Ok(Some(decision)) => matched.decisions.push((open.id.clone(), decision)),
            Ok(None) => {}
            Err(Tampered) => matched.tampered.push(open.id.clone()),
        }
    }
    let claimed = request.claims.iter().filter(|claim| claim.is_last).filter_map(|claim| match &claim.kind {
        ClaimKind::Answered { approval, .. } => Some(approval),
        ClaimKind::Output(_) | ClaimKind::Failed(_) => None,
    });
    let claimed = claimed.map(|approval| (approval, true));
    for (approval, is_claimed) in claimed.chain(request.decisions.iter().map(|(approval, _)| (approval, false))) {
        if !used.insert(approval.clone()) {
            continue;
        }
        match settled_call(run, approval) {
            Some(call) => matched.settled.push((call.id.clone(), is_claimed.then(|| approval.clone()))),
            None => matched.unasked += 1,
        }
    }
    if matched.decisions.is_empty() && matched.settled.is_empty() {
        // A request without anything new was sent before. The run has the results that it brings.
        let is_result = |claim: &&Claim| claim.is_last && !matches!(claim.kind, ClaimKind::Answered { .. });
        let given = request.claims.iter().filter(is_result).filter_map(|claim| given_result(run, &claim.call));
        matched.settled = given.map(|call| (call.id.clone(), None)).collect();
    }
    matched
}

/// Returns the call that a client knows as `id`, if the client executes it and it has a result.
fn given_result<'a>(run: &'a Run, id: &str) -> Option<&'a Call> {
    let is_given = |call: &&Call| call.result().is_some() && call.tool.as_ref().is_some_and(|tool| tool.external);
    // The client knows a nested call by the id of its interrupt.
    run.call(&CallId::from(id)).filter(is_given).or_else(|| settled_call(run, id))
}

/// An index of claims by request and by call. Of several claims about one request or call, the last counts.
struct Claims<'a> {
    all: &'a [Claim],
    answers: HashMap<&'a str, usize>,
    results: HashMap<&'a str, usize>,
}

impl<'a> Claims<'a> {
    fn new(all: &'a [Claim]) -> Self {
        let (mut answers, mut results) = (HashMap::new(), HashMap::new());
        for (at, claim) in all.iter().enumerate() {
            match &claim.kind {
                ClaimKind::Answered { approval, .. } => answers.insert(approval.as_str(), at),
                ClaimKind::Output(_) | ClaimKind::Failed(_) => results.insert(claim.call.as_str(), at),
            };
        }
        Self { all, answers, results }
    }

    /// Returns the last claim that answers the request `asked` or has a result of `call`.
    fn about(&self, asked: &str, call: Option<&str>) -> Option<&'a Claim> {
        let answer = self.answers.get(asked);
        let result = call.and_then(|call| self.results.get(call));
        answer.max(result).map(|at| &self.all[*at])
    }
}

/// The error for an approval of other arguments than those that the run asked about.
#[derive(Clone, Copy)]
struct Tampered;

/// Returns the decision about `open`. `explicit`, from the field `decisions`, counts if there is no claim, or if the claim
/// approves; otherwise the claim counts. If `explicit` cannot be read, the claim approves nothing: the person may have replaced the
/// arguments.
fn read_decision(
    call: &Call,
    open: &Interrupt,
    claim: Option<&Claim>,
    explicit: Option<Result<&Decision, Tampered>>,
) -> Result<Option<Decision>, Tampered> {
    let Some(claim) = claim else { return Ok(explicit.and_then(Result::ok).cloned()) };
    Ok(match &claim.kind {
        ClaimKind::Answered { approved: false, reason, .. } => Some(Decision::Deny { reason: reason.clone() }),
        ClaimKind::Answered { .. } => match explicit {
            Some(decision) => Some(decision?.clone()),
            None if matches_shown(call, open, claim) => Some(Decision::Approve),
            None => return Err(Tampered),
        },
        ClaimKind::Output(output) => Some(Decision::Respond { output: output.clone() }),
        ClaimKind::Failed(error) => Some(Decision::Fail { error: error.clone() }),
    })
}

/// Returns whether the client's arguments equal those that the run asked about. Missing arguments count as equal.
fn matches_shown(call: &Call, open: &Interrupt, claim: &Claim) -> bool {
    let Some(input) = &claim.input else { return true };
    // The server sends arguments that clients refuse as a string, which the client sends back.
    let input = serde_json::from_str(input).map_or(Cow::Borrowed(input.as_str()), |text: String| text.into());
    is_echo(&input, &open.shown.arguments.to_string()) || is_echo(&input, &call.arguments().text)
}
