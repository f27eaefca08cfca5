//! A call of a server's tool. The client limits the size of the result, checks the result against the declared schema, and never
//! trusts its text.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    ErrorData, Peer, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest,
        ConstString as _, ContentBlock, ElicitationCreateRequestMethod, ProgressToken, RequestId, RequestMetaObject,
        ResourceContents, ServerResult,
    },
    service::PeerRequestOptions,
};
use serde_json::Value;
use tool_run::run::Digest;
use tool_runtime::{
    CallError, Context, Effect, Failure, Media, Output, Part,
    feedback::{escape, one_line},
    message,
    schema::CompiledSchema,
};

use super::{
    RemoteLimits,
    connection::has_sessions,
    handler::Inbox,
    questions::RemoteQuestion,
    remote::Shared,
    results::{exact_content, input_required},
};
use crate::mcp::message::ExactArguments;

/// Calls the server's tool `remote_name`. `digest` is the digest of the accepted definition, `effect` the claimed effect,
/// `output` the declared schema of its output, and `arguments` the JSON of the arguments.
pub async fn call(
    shared: Arc<Shared>,
    remote_name: String,
    digest: Digest,
    effect: Effect,
    output: Option<Arc<CompiledSchema>>,
    arguments: String,
    cx: Context,
) -> Result<Output, CallError> {
    let peer = shared.connect().await.map_err(|reason| {
        let text = format!("the MCP server `{}` cannot be reached; the tool did not run", shared.server.name);
        Failure::new(text).source(reason).retryable()
    })?;
    if !shared.is_unchanged(&remote_name, digest) {
        let text = "the MCP server has changed the tool's definition since somebody accepted it; the tool does not run \
                    until somebody accepts the change";
        return Err(CallError::PolicyDenied { reason: Some(text.to_owned()) });
    }
    let mut params = CallToolRequestParams::new(remote_name);
    params.arguments = serde_json::from_str(&arguments).ok();
    let exact = ExactArguments::of(&arguments);
    let hint = if has_sessions(&peer) { "" } else { OLDER_WAY };
    for _ in 0..shared.server.limits.requests.max(1) {
        match send(&shared, &peer, params.clone(), exact.clone(), effect, &cx, hint).await? {
            CallResponse::Done(done) => return read_result(done, output.as_deref(), &shared.server.limits, hint),
            CallResponse::Asks { state, requests } => {
                params.request_state = state;
                params.input_responses = Some(answer_requests(&shared.inbox, &cx, requests).await?);
            }
        }
    }
    Err(Failure::new("the MCP server kept asking, and the call was given up").into())
}

/// The response to a request of a call.
enum CallResponse {
    Done(CallToolResult),
    /// The server needs input: the requests by their keys, and the state to send back.
    Asks {
        state: Option<String>,
        requests: BTreeMap<String, Value>,
    },
}

/// Sends a request of a call, and waits for the response.
async fn send(
    shared: &Shared,
    peer: &Peer<RoleClient>,
    params: CallToolRequestParams,
    exact: Option<ExactArguments>,
    effect: Effect,
    cx: &Context,
    hint: &str,
) -> Result<CallResponse, CallError> {
    let name = params.name.to_string();
    let arguments = serde_json::to_string(&params.arguments).unwrap_or_default();
    let request_error = |error| request_error(error, effect, hint);
    let mut request = CallToolRequest::new(params);
    if let Some(exact) = exact {
        request.extensions.insert(exact);
    }
    let request = ClientRequest::CallToolRequest(request);
    let mut options = PeerRequestOptions::no_options();
    if let Some(logs) = &shared.inbox.logs {
        let mut meta = RequestMetaObject::default();
        meta.set_log_level(logs.least.wire());
        options = options.with_meta(meta);
    }
    let (limit, running) = (shared.server.limits.call, &shared.inbox.running);
    let started = running.start(cx, &name, &arguments, async {
        let handle = peer.send_request_with_option(request, options).await?;
        let (id, token) = (handle.id.clone(), handle.progress_token.clone());
        Ok((handle, id, token))
    });
    let timed_out = || CallError::TimedOut { limit };
    let started = tokio::time::timeout(limit, started).await.map_err(|_| timed_out())?;
    let (handle, time_limit) = started.map_err(request_error)?;
    let mut in_flight = InFlightRequest {
        peer,
        inbox: &shared.inbox,
        token: handle.progress_token.clone(),
        cancel: Some(handle.id.clone()),
    };
    let response = tokio::select! {
        response = handle.await_response() => response,
        () = time_limit.wait(limit) => return Err(timed_out()),
    };
    in_flight.cancel = None;
    let not_a_response =
        || Failure::new("the MCP server sent a response that is not one to a call; the tool may have run").into();
    match response.map_err(request_error)? {
        ServerResult::CallToolResult(done) => Ok(CallResponse::Done(done)),
        ServerResult::CustomResult(mut other) => {
            let mut asks = input_required(&mut other).ok_or_else(not_a_response)?;
            let state = asks["requestState"].as_str().map(str::to_owned);
            let requests = match asks["inputRequests"].take() {
                Value::Object(requests) => requests.into_iter().collect(),
                _ => BTreeMap::new(),
            };
            Ok(CallResponse::Asks { state, requests })
        }
        _ => Err(not_a_response()),
    }
}

/// A request in progress. Dropping it cancels the request at the server.
struct InFlightRequest<'a> {
    peer: &'a Peer<RoleClient>,
    inbox: &'a Inbox,
    token: ProgressToken,
    cancel: Option<RequestId>,
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        self.inbox.running.end(&self.token);
        if let (Some(id), Ok(runtime)) = (self.cancel.take(), tokio::runtime::Handle::try_current()) {
            let (peer, text) = (self.peer.clone(), "nobody waits for it any more".to_owned());
            runtime.spawn(
                async move { peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some(text))).await },
            );
        }
    }
}

/// The maximum length of a server's message in an error, in characters.
const MAX_MESSAGE: usize = 2000;

/// The advice for a server that offers the revision without sessions, in which it cannot ask, and asks all the same.
const OLDER_WAY: &str =
    "; if the server asks people by the older way, connect to it with `RemoteServer::older_revision`";

/// Returns `hint` if the text of a failure mentions questions to people.
fn hint_on<'a>(text: &str, hint: &'a str) -> &'a str {
    if text.to_ascii_lowercase().contains("elicit") { hint } else { "" }
}

/// Returns the error for a request without a result. The server's message is untrusted text.
fn request_error(error: ServiceError, effect: Effect, hint: &str) -> CallError {
    let failure = match &error {
        ServiceError::McpError(ErrorData { message, data, .. }) => {
            let text = match data {
                None | Some(Value::Null) => escape(message),
                Some(data) => escape(&format!("{message} ({data})")),
            };
            let text: String = text.chars().take(MAX_MESSAGE).collect();
            let hint = hint_on(&text, hint);
            Failure::new(format!("the MCP server refused the call: {text}{hint}"))
        }
        _ if effect == Effect::ReadOnly => Failure::new("the connection to the MCP server broke"),
        _ => Failure::new("the connection to the MCP server broke; the call may have had effects"),
    };
    failure.source(error).into()
}

/// Answers the requests of a server that needs input before it continues a call.
async fn answer_requests(
    inbox: &Inbox,
    cx: &Context,
    requests: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, CallError> {
    let mut answers = BTreeMap::new();
    for (key, request) in requests {
        let answer = match request["method"].as_str() {
            Some(ElicitationCreateRequestMethod::VALUE) if inbox.allows_questions() => {
                let question =
                    RemoteQuestion::read(&request["params"], inbox.limits.definition_bytes).map_err(|error| {
                        Failure::new(format!("the MCP server asks a question that cannot be shown: {}", error.message))
                    })?;
                question.put_to(inbox.server(), cx, "").await?
            }
            Some(ElicitationCreateRequestMethod::VALUE) => return Err(unsupported_request("an answer of a person")),
            Some("sampling/createMessage") => {
                return Err(unsupported_request("a model to be asked on its behalf"));
            }
            Some("roots/list") => return Err(unsupported_request("a list of directories")),
            _ => return Err(unsupported_request("something that is not known here")),
        };
        answers.insert(key, serde_json::to_value(answer).unwrap_or_default());
    }
    Ok(answers)
}

/// Returns the error for a server that requests something the client does not offer. The revision 2026-07-28 has no response
/// that declines such a request.
fn unsupported_request(what: &str) -> CallError {
    Failure::new(format!("the MCP server requests {what}, which this client does not offer; the call was given up"))
        .into()
}

/// Returns the output of a call.
///
/// Fails when the tool failed, or when the result is larger than the limit or does not fit the declared schema.
fn read_result(
    result: CallToolResult,
    declared: Option<&CompiledSchema>,
    limits: &RemoteLimits,
    hint: &str,
) -> Result<Output, CallError> {
    let structured = exact_content(&result);
    let bytes = result.content.iter().map(size_of_block).sum::<usize>() + structured.as_ref().map_or(0, String::len);
    if bytes > limits.result_bytes {
        let most = limits.result_bytes;
        return Err(Failure::new(format!("the result has {bytes} bytes, and at most {most} are accepted")).into());
    }
    let parts: Vec<Part> = result.content.into_iter().map(part).collect();
    let texts: Option<Vec<&str>> = parts.iter().map(Part::as_text).collect();
    if result.is_error == Some(true) {
        let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).filter(|text| !text.trim().is_empty()).collect();
        // Some servers put the details only there.
        let details = || structured.filter(|json| json != "null").unwrap_or_else(|| "the tool failed".to_owned());
        let text = if texts.is_empty() { details() } else { texts.join("\n") };
        let hint = hint_on(&text, hint);
        return Err(Failure::new(format!("{text}{hint}")).into());
    }
    // Up to 2025-11-25, `null` was a way to write that there is no value.
    let is_value = |value: &Value| !value.is_null() || declared.is_some_and(|declared| declared.is_valid(value));
    let Some(value) = result.structured_content.filter(is_value) else { return Ok(Output::content(parts)) };
    let json = structured.unwrap_or_default();
    let problems = declared.map(|declared| declared.problems(&value, "")).unwrap_or_default();
    if let Some(problem) = problems.first() {
        let text = format!("the MCP server's result is not what it declared: {problem}");
        return Err(Failure::new(text).into());
    }
    Ok(match texts {
        Some(texts) if texts.is_empty() || repeats(&texts, &value) || repeats_members(&texts, &value) => {
            Output::from_json(json)
        }
        _ => Output::from_json(json).show(parts),
    })
}

/// Returns whether the texts are one, and it is the value as JSON. Many servers repeat the value, for clients that read only texts.
fn repeats(texts: &[&str], value: &Value) -> bool {
    matches!(texts, [text] if serde_json::from_str::<Value>(text).is_ok_and(|text| text == *value))
}

/// Returns whether the texts are the members of a list one by one, without `null` and the borders of inner lists. Python's
/// `mcp` writes lists like that, and repeats them as the member `result` of an object.
fn repeats_members(texts: &[&str], value: &Value) -> bool {
    let list = match value {
        Value::Object(map) if map.len() == 1 => map.get("result").unwrap_or(value),
        value => value,
    };
    let mut rest = texts.iter();
    list.is_array() && takes_members(list, &mut rest) && rest.next().is_none()
}

/// Takes the texts of `value` and its members from `rest`. Returns whether `rest` begins with them.
fn takes_members<'a>(value: &Value, rest: &mut impl Iterator<Item = &'a &'a str>) -> bool {
    match value {
        Value::Null => true,
        Value::Array(members) => members.iter().all(|member| takes_members(member, rest)),
        Value::String(text) => rest.next().is_some_and(|next| next == text),
        value => rest.next().is_some_and(|next| repeats(&[*next], value)),
    }
}

fn size_of_block(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len() + image.mime_type.len(),
        other => serde_json::to_string(other).map_or(0, |text| text.len()),
    }
}

fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::text(text.text),
        ContentBlock::Image(image) if is_media("image/", &image.mime_type, &image.data) => {
            Part::Image(Media::base64(image.mime_type, image.data))
        }
        ContentBlock::Image(_) => Part::text("(an image that cannot be read)"),
        ContentBlock::Audio(audio) if is_media("audio/", &audio.mime_type, &audio.data) => {
            Part::Audio(Media::base64(audio.mime_type, audio.data))
        }
        ContentBlock::Audio(_) => Part::text("(sound that cannot be read)"),
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        // A server names what the client may read there. It is no file for the model's provider, which cannot read most of them.
        ContentBlock::ResourceLink(link) => Part::text(format!("{} ({})", link.uri, link.name)),
        _ => Part::text("(content of a kind that is not known here)"),
    }
}

fn resource(contents: ResourceContents) -> Part {
    match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => Part::Resource {
            uri: one_line(&uri),
            media_type: usable_media_type(mime_type),
            contents: message::ResourceContents::Text(text),
        },
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } if is_base64(&blob) => Part::Resource {
            uri: one_line(&uri),
            media_type: usable_media_type(mime_type),
            contents: message::ResourceContents::Base64(blob),
        },
        ResourceContents::BlobResourceContents { uri, .. } => {
            Part::text(format!("({}, which cannot be read)", one_line(&uri)))
        }
        _ => Part::text("(a resource of a kind that is not known here)"),
    }
}

/// Returns the media type, or `None` if it cannot be passed to a provider.
fn usable_media_type(media_type: Option<String>) -> Option<String> {
    media_type.filter(|media_type| is_usable(media_type))
}

fn is_usable(media_type: &str) -> bool {
    let usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '+' | '-' | '.');
    media_type.len() <= 64 && media_type.chars().all(usable)
}

/// Returns whether the media type begins with `kind` and is usable, and the data is base64.
fn is_media(kind: &str, media_type: &str, data: &str) -> bool {
    media_type.starts_with(kind) && is_usable(media_type) && is_base64(data)
}

fn is_base64(data: &str) -> bool {
    data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}
