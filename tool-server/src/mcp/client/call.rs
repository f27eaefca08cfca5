//! A call of a server's tool. The client limits the size of the result, checks the result against the declared schema, and never
//! trusts its text.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest,
        ContentBlock, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
        ProgressToken, RequestId, RequestMetaObject, ResourceContents, ServerResult,
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
    tool::{Question, QuestionAnswer},
};

use super::{RemoteLimits, definition::arguments_object, handler::Inbox, remote::Shared};

/// Calls the server's tool `remote_name`. `digest` is the digest of the accepted definition, `effect` the claimed effect,
/// and `output` the declared schema of its output.
pub async fn call(
    shared: Arc<Shared>,
    remote_name: String,
    digest: Digest,
    effect: Effect,
    output: Option<Arc<CompiledSchema>>,
    arguments: Value,
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
    let mut params = CallToolRequestParams::new(remote_name).with_arguments(arguments_object(arguments));
    for _ in 0..shared.server.limits.requests.max(1) {
        let sent = send(&shared, &peer, params.clone(), effect, &cx);
        let limit = shared.server.limits.call;
        let response = tokio::time::timeout(limit, sent).await.map_err(|_| CallError::TimedOut { limit })?;
        match response? {
            CallResponse::Done(done) => return read_result(done, output.as_deref(), &shared.server.limits),
            CallResponse::Asks(asks) => {
                params.request_state = asks.request_state;
                params.input_responses = Some(answer_requests(&shared.inbox, &cx, asks.input_requests).await?);
            }
        }
    }
    Err(Failure::new("the MCP server kept asking, and the call was given up").into())
}

/// The response to a request of a call.
enum CallResponse {
    Done(CallToolResult),
    Asks(InputRequiredResult),
}

/// Sends a request of a call, and waits for the response.
async fn send(
    shared: &Shared,
    peer: &Peer<RoleClient>,
    params: CallToolRequestParams,
    effect: Effect,
    cx: &Context,
) -> Result<CallResponse, CallError> {
    let request_error = |error| request_error(error, effect);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let mut options = PeerRequestOptions::no_options();
    if let Some(logs) = &shared.inbox.logs {
        let mut meta = RequestMetaObject::default();
        meta.set_log_level(logs.least.wire());
        options = options.with_meta(meta);
    }
    let handle = peer.send_request_with_option(request, options).await.map_err(request_error)?;
    let mut in_flight = InFlightRequest {
        peer,
        inbox: &shared.inbox,
        token: handle.progress_token.clone(),
        cancel: Some(handle.id.clone()),
    };
    shared.inbox.begin(handle.progress_token.clone(), cx.clone());
    let response = handle.await_response().await;
    in_flight.cancel = None;
    match response.map_err(request_error)? {
        ServerResult::CallToolResult(done) => Ok(CallResponse::Done(done)),
        ServerResult::InputRequiredResult(asks) => Ok(CallResponse::Asks(asks)),
        _ => {
            Err(Failure::new("the MCP server sent a response that is not one to a call; the tool may have run").into())
        }
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
        self.inbox.end(&self.token);
        if let (Some(id), Ok(runtime)) = (self.cancel.take(), tokio::runtime::Handle::try_current()) {
            let (peer, text) = (self.peer.clone(), "nobody waits for it any more".to_owned());
            runtime.spawn(
                async move { peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some(text))).await },
            );
        }
    }
}

/// Returns the error for a request without a result. The server's message is untrusted text.
fn request_error(error: ServiceError, effect: Effect) -> CallError {
    let failure = match &error {
        ServiceError::McpError(text) => {
            let text: String = escape(&text.message).chars().take(2000).collect();
            Failure::new(format!("the MCP server refused the call: {text}"))
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
    requests: Option<BTreeMap<String, InputRequest>>,
) -> Result<BTreeMap<String, Value>, CallError> {
    let mut answers = BTreeMap::new();
    for (key, request) in requests.unwrap_or_default() {
        let answer = match request {
            InputRequest::Elicitation(request) if inbox.allows_questions() => {
                ask_person(inbox.server(), cx, request.params).await
            }
            InputRequest::Elicitation(_) => return Err(unsupported_request("an answer of a person")),
            InputRequest::CreateMessage(_) => return Err(unsupported_request("a model to be asked on its behalf")),
            InputRequest::ListRoots(_) => return Err(unsupported_request("a list of directories")),
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

/// Asks the person behind a call the question of a server.
pub async fn ask_person(server: &str, cx: &Context, params: ElicitRequestParams) -> ElicitResult {
    let declined = ElicitResult::new(ElicitationAction::Decline);
    // The client declines requests to open a web page, because it does not trust the server.
    let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = params else { return declined };
    let Ok(schema) = serde_json::to_value(requested_schema) else { return declined };
    let text = format!("The MCP server `{}` asks: {}", one_line(server), escape(&message));
    match cx.ask_question(Question::ask(text, schema)).await {
        Ok(QuestionAnswer::Given(value)) => ElicitResult::new(ElicitationAction::Accept).with_content(value),
        Ok(_) | Err(_) => declined,
    }
}

/// Returns the output of a call.
///
/// Fails when the tool failed, or when the result is larger than the limit or does not fit the declared schema.
fn read_result(
    result: CallToolResult,
    declared: Option<&CompiledSchema>,
    limits: &RemoteLimits,
) -> Result<Output, CallError> {
    let structured = result.structured_content.as_ref().map(ToString::to_string);
    let bytes = result.content.iter().map(size_of_block).sum::<usize>() + structured.as_ref().map_or(0, String::len);
    if bytes > limits.result_bytes {
        let most = limits.result_bytes;
        return Err(Failure::new(format!("the result has {bytes} bytes, and at most {most} are accepted")).into());
    }
    let parts: Vec<Part> = result.content.into_iter().map(part).collect();
    if result.is_error == Some(true) {
        let text: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
        let text = if text.is_empty() { "the tool failed".to_owned() } else { text.join("\n") };
        return Err(Failure::new(text).into());
    }
    // Up to 2025-11-25, `null` was a way to write that there is no value.
    let is_value = |value: &Value| !value.is_null() || declared.is_some_and(|declared| declared.is_valid(value));
    let Some(value) = result.structured_content.filter(is_value) else { return Ok(Output::content(parts)) };
    let problems = declared.map(|declared| declared.problems(&value, "")).unwrap_or_default();
    if let Some(problem) = problems.first() {
        let text = format!("the MCP server's result is not what it declared: {problem}");
        return Err(Failure::new(text).into());
    }
    let output = Output::json(&value)?;
    // Many servers repeat the value as a text, for clients that read only texts.
    let repeats = match &parts[..] {
        [] => true,
        [Part::Text { text }] => serde_json::from_str(text).is_ok_and(|text: serde_json::Value| text == value),
        _ => false,
    };
    Ok(if repeats { output } else { output.show(parts) })
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
