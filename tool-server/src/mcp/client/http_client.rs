//! The HTTP client of a connection. It reads messages as the other transports do; rmcp keeps the session.

use std::{collections::HashMap, io, sync::Arc};

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use reqwest::{Client, Response};
use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, JsonRpcRequest, RequestId, ServerRequest},
    transport::streamable_http_client::{
        AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
        StreamableHttpPostResponse, StreamableHttpResponseLimits,
    },
};
use serde_json::value::RawValue;
use sse_stream::{Sse, SseStream};

use super::reading::ServerMessages;
use crate::mcp::message::{MessageReader, without_mark};

type HttpError = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The media types of responses, in the order in which this client prefers them.
const ACCEPTED: &str = "text/event-stream, application/json";

/// The headers that only this client sets.
const RESERVED: [&str; 3] = ["accept", "mcp-session-id", "last-event-id"];

/// An HTTP client that reads the messages of a server.
#[derive(Clone)]
pub struct HttpClient {
    http: Client,
    messages: ServerMessages,
}

impl HttpClient {
    pub fn new(http: Client) -> Self {
        Self { http, messages: ServerMessages::default() }
    }

    /// Reads the responses in a stream of events. rmcp reads the text of each event, so it gets the text of what this client has
    /// read. Other messages go on as they came. An event with a batch becomes an event for each message.
    fn read_events(&self, events: Events) -> Events {
        let (batches, messages) = (self.messages.clone(), self.messages.clone());
        let divide = move |event: Result<Sse, SseError>| {
            let batch = event.as_ref().ok().and_then(message_in).map(|text| batches.read_batch(text));
            let divided = batch.filter(|batch| !batch.is_empty()).map(events_of);
            stream::iter(divided.unwrap_or_else(|| vec![event]))
        };
        let read = move |event: Result<Sse, SseError>| {
            let mut event = event?;
            if let Some(text) = message_in(&event) {
                match messages.read(text) {
                    // A question is a custom request, because rmcp's types lose limits of its form.
                    Ok(Some(
                        read @ (JsonRpcMessage::Response(_)
                        | JsonRpcMessage::Error(_)
                        | JsonRpcMessage::Request(JsonRpcRequest {
                            request: ServerRequest::CustomRequest(_),
                            ..
                        })),
                    )) => event.data = serde_json::to_string(&read).ok(),
                    Ok(None) => event.data = None,
                    Ok(Some(_)) | Err(_) => {}
                }
            }
            Ok(event)
        };
        events.flat_map(divide).map(read).boxed()
    }

    /// Reads the body of a response to `message`, which may be a batch.
    async fn read_body(
        &self,
        message: &ClientJsonRpcMessage,
        response: Response,
        session: Option<String>,
        most: usize,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let body = read_bytes(response, most).await?.ok_or(HttpError::ResponseBodyTooLarge { max_size: most })?;
        let text = without_mark(body.trim_ascii());
        let batch = self.messages.read_batch(text);
        if !batch.is_empty() {
            let events = stream::iter(events_of(batch)).boxed();
            return Ok(StreamableHttpPostResponse::Sse(self.read_events(events), session));
        }
        let read = self.messages.read(text).ok().flatten();
        match (read, request_id(message)) {
            (Some(read), _) => Ok(StreamableHttpPostResponse::Json(read, session)),
            (None, None) => Ok(StreamableHttpPostResponse::Accepted),
            (None, Some(_)) => {
                let start = String::from_utf8_lossy(&body[..body.len().min(256)]).into_owned();
                Err(HttpError::UnexpectedServerResponse(format!("a body that is no response: {start}").into()))
            }
        }
    }
}

/// Returns the text of the message in an event. Returns `None` for events of other kinds.
fn message_in(event: &Sse) -> Option<&[u8]> {
    let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
    let data = event.data.as_deref().filter(|_| is_message)?;
    Some(without_mark(data.trim().as_bytes()))
}

/// Returns an event for each message of a batch.
fn events_of(batch: Vec<&RawValue>) -> Vec<Result<Sse, SseError>> {
    let event = |message: &RawValue| Ok(Sse { data: Some(message.get().to_owned()), ..Sse::default() });
    // rmcp ends a handshake with anything else.
    batch.into_iter().filter(|message| message.get().starts_with('{')).map(event).collect()
}

/// Returns the id of a request.
fn request_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

/// Reads a body of at most `most` bytes. Returns `None` if it is longer.
async fn read_bytes(mut response: Response, most: usize) -> Result<Option<Vec<u8>>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(HttpError::Client)? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

fn is_of_type(headers: &HeaderMap, media_type: &str) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media_type)
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self.http.post(uri.as_ref()).header(ACCEPT, ACCEPTED);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let had_session = session.is_some();
        if let Some(session) = session {
            request = request.header("mcp-session-id", session.as_ref());
        }
        for (name, value) in headers {
            if RESERVED.contains(&name.as_str()) {
                return Err(HttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        let body = self.messages.write(&message)?;
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(HttpError::Client)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(HttpError::SessionExpired);
        }
        if !status.is_success() {
            return self.read_failure(&message, had_session, response, &limits).await;
        }
        let next_session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        if is_of_type(response.headers(), "text/event-stream") {
            let bytes = response.bytes_stream();
            let events = SseStream::from_bytes_stream(with_limit(bytes, limits.max_sse_event_size)).boxed();
            return Ok(StreamableHttpPostResponse::Sse(self.read_events(events), next_session));
        }
        if request_id(&message).is_none() {
            // Nobody waits for a response to this message.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !is_of_type(response.headers(), "application/json") {
            let found =
                response.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into());
            return Err(HttpError::UnexpectedContentType(found));
        }
        self.read_body(&message, response, next_session, limits.max_json_response_size).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpError> {
        self.http.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Events, HttpError> {
        Ok(self.read_events(self.http.get_stream(uri, session, last_event, token, headers).await?))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<Events, HttpError> {
        let events = self.http.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, most);
        Ok(self.read_events(events.await?))
    }
}

impl HttpClient {
    /// Reads a response whose status is a failure. It may contain the error of the protocol.
    async fn read_failure(
        &self,
        message: &ClientJsonRpcMessage,
        had_session: bool,
        response: Response,
        limits: &StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        if status == StatusCode::UNAUTHORIZED
            && let Some(www_authenticate_header) = header(WWW_AUTHENTICATE)
        {
            return Err(HttpError::AuthRequired(AuthRequiredError::new(www_authenticate_header)));
        }
        let retry_after = header(RETRY_AFTER);
        let is_json = is_of_type(response.headers(), "application/json");
        let is_refused =
            matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
        let most = if is_json { limits.max_json_response_size } else { limits.max_error_response_size };
        let body = read_bytes(response, most).await?.unwrap_or_default();
        let error = match self.messages.read(without_mark(body.trim_ascii())) {
            Ok(Some(JsonRpcMessage::Error(error))) if is_json && !is_refused => Some(error.error),
            _ => None,
        };
        // A proxy or a server before 2026-07-28 refuses `server/discover` without an error of the protocol.
        let is_probe = matches!(message, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::DiscoverRequest(_)));
        let is_unknown_probe = is_probe && !had_session && status.is_client_error() && !is_refused;
        let text = || String::from_utf8_lossy(&body[..body.len().min(256)]).into_owned();
        let error = error.or_else(|| {
            is_unknown_probe.then(|| ErrorData::invalid_request(format!("HTTP {status}: {}", text()), None))
        });
        match error {
            // The error may lack the id.
            Some(error) => {
                let message = JsonRpcMessage::error(error, request_id(message).cloned());
                Ok(StreamableHttpPostResponse::Json(message, None))
            }
            None if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
                Err(HttpStatusError::new(status.as_u16(), retry_after).into())
            }
            None => Err(HttpError::UnexpectedServerResponse(format!("HTTP {status}: {}", text()).into())),
        }
    }
}

/// Ends a stream of events with an error when an event is larger than `most` bytes.
fn with_limit(
    bytes: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    most: usize,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let (mut event, mut line_is_empty) = (0, true);
    bytes.map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        for byte in &chunk {
            match byte {
                b'\n' if line_is_empty => event = 0,
                b'\n' => line_is_empty = true,
                b'\r' => {}
                _ => (line_is_empty, event) = (false, event + 1),
            }
            if event > most {
                return Err(io::Error::other(format!("an event has more than {most} bytes")));
            }
        }
        Ok(chunk)
    })
}
