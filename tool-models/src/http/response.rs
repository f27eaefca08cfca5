//! The reader of responses, which turns chunks of bytes into server-sent events, and events into deltas.

use std::{collections::VecDeque, error::Error as StdError, time::Duration};

use futures_util::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use reqwest::{
    Client, Request, Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout, timeout_at},
};

use super::{Http, repair::repair_events};
use crate::error;
use tool_runtime::model::{Delta, FinishReason, ModelError, ModelErrorKind};

/// A decoder of the events in one response of a provider. It does no I/O, so that tests can decode recorded responses.
///
/// The deltas do not depend on the division of the response into chunks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot decode a provider's stream",
    label = "`Decode` is not implemented",
    note = "implement `Decode` for it: it turns the events of one response into deltas"
)]
pub trait Decode: Send {
    /// Decodes the data of the response's next event. Fails if the event violates the protocol, or reports an error of the
    /// provider. After an error, the caller must not use the decoder any more.
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError>;

    /// Returns the remaining deltas at the end of the response. The last is [`Delta::Finish`], unless an event had it. Fails if
    /// the response ended before the model had finished. The caller reports a turn that ended well without content as a failure.
    fn finish(&mut self) -> Result<Vec<Delta>, ModelError>;
}

/// The maximum wait for the end of a body after its last event. The client can reuse a connection only if it has read the whole
/// body.
const MAX_LINGER: Duration = Duration::from_millis(200);

/// The head of a response.
pub struct Reply {
    response: Response,
    sent_headers: HeaderMap,
    /// The time until which the first byte of the body must arrive, and how long that was after the request.
    deadline: Instant,
    wait: Duration,
}

impl Reply {
    /// Sends `request`, and waits at most `wait` for the head of its response.
    pub async fn receive(client: &Client, request: Request, wait: Duration) -> Result<Self, ModelError> {
        let deadline = end_of(wait);
        let sent_headers = request.headers().clone();
        let response = timeout_at(deadline, client.execute(request)).await.map_err(|_| timeout_error(wait))?;
        Ok(Self { response: response.map_err(request_error)?, sent_headers, deadline, wait })
    }

    /// Returns whether the provider refuses the credentials.
    pub fn is_unauthorized(&self) -> bool {
        refuses_credentials(self.response.status(), self.response.url().host_str().unwrap_or_default())
    }
}

/// Returns whether a response with this status refuses the credentials. With 403, most hosts refuse what they allow, and AWS also a token
/// that has expired.
fn refuses_credentials(status: StatusCode, host: &str) -> bool {
    let is_aws = host.ends_with(".api.aws") || host.ends_with(".amazonaws.com");
    status == StatusCode::UNAUTHORIZED || (is_aws && status == StatusCode::FORBIDDEN)
}

/// The events of a response, and the decoder that turns them into deltas.
pub struct DeltaStream<'a, D> {
    events: BoxStream<'a, Result<String, ModelError>>,
    decoder: D,
    decoded: VecDeque<Delta>,
    /// Set if a delta has content: text that is not blank, a call, or a part of a provider's tool.
    has_content: bool,
    is_finished: bool,
    /// The error after the last delta.
    failure: Option<ModelError>,
    /// The permit of the rate limits, while the request is in flight.
    permit: Option<OwnedSemaphorePermit>,
    /// The headers of the request, whose values no error repeats.
    sent_headers: HeaderMap,
}

impl<D: Decode + 'static> DeltaStream<'static, D> {
    /// Prepares to read the body of `reply`. Fails if the status is an error.
    pub async fn open(reply: Reply, http: &Http, decoder: D) -> Result<Self, ModelError> {
        let Reply { response, sent_headers, deadline, wait } = reply;
        if !response.status().is_success() {
            let error = error::read_error_response(response, &sent_headers);
            return Err(timeout_at(deadline, error).await.unwrap_or_else(|_| timeout_error(wait)));
        }
        let has_type = |wanted: &[u8]| {
            let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            kind.and_then(|kind| kind.get(..wanted.len())).is_some_and(|kind| kind.eq_ignore_ascii_case(wanted))
        };
        if has_type(b"text/html") {
            return Err(error::protocol_error("the server responded with a web page: check the base URL of the model"));
        }
        let is_json = has_type(b"application/json");
        let bytes = read_chunks(response, deadline, wait, http.timeouts.idle);
        let events = parse_events(bytes, EventParser::new(is_json, http.max_event_bytes));
        Ok(Self { sent_headers, ..Self::new(events, decoder) })
    }
}

impl<'a, D: Decode + 'a> DeltaStream<'a, D> {
    fn new(events: BoxStream<'a, Result<String, ModelError>>, decoder: D) -> Self {
        Self {
            events,
            decoder,
            decoded: VecDeque::new(),
            has_content: false,
            is_finished: false,
            failure: None,
            permit: None,
            sent_headers: HeaderMap::new(),
        }
    }

    pub fn with_permit(mut self, permit: OwnedSemaphorePermit) -> Self {
        self.permit = Some(permit);
        self
    }

    /// Reads to the first delta that proves that the model answers, or to the end. [`Delta::Usage`] proves nothing, because
    /// providers send one and then report an overload.
    pub async fn read_first_delta(&mut self) -> Result<(), ModelError> {
        while self.decoded.iter().all(|delta| matches!(delta, Delta::Usage(_))) {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.is_finished {
                break;
            }
            self.read_event().await?;
        }
        Ok(())
    }

    async fn read_event(&mut self) -> Result<(), ModelError> {
        let read = self.decode_event().await;
        // Some proxies repeat headers in events, too.
        read.map_err(|error| error.map_texts(|text| error::redact(&text, &self.sent_headers)))
    }

    async fn decode_event(&mut self) -> Result<(), ModelError> {
        let more = if let Some(event) = self.events.next().await {
            let event = event?;
            match repair_events(&event) {
                None => self.decoder.decode_event(&event)?,
                Some(events) => {
                    let mut more = Vec::new();
                    for event in events {
                        more.extend(self.decoder.decode_event(&event)?);
                    }
                    more
                }
            }
        } else {
            self.is_finished = true;
            self.decoder.finish()?
        };
        self.has_content |= more.iter().any(|delta| match delta {
            Delta::Text(text) => !text.trim().is_empty(),
            Delta::CallStart { .. } | Delta::Provider(_) => true,
            _ => false,
        });
        self.decoded.extend(more);
        let Some(Delta::Finish(reason)) = self.decoded.back() else { return Ok(()) };
        self.is_finished = true;
        // A run with an empty answer would be finished. As a failure, the turn may be repeated, or the next model takes over.
        if !self.has_content && matches!(reason, FinishReason::Stop | FinishReason::ToolCalls) {
            self.decoded.pop_back();
            self.failure = Some(error::empty_error());
        }
        Ok(())
    }

    /// Returns the stream of deltas, which ends after the last delta or the first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'a {
        stream::unfold(Some(self), |deltas| async {
            let mut deltas = deltas?;
            while deltas.decoded.is_empty() && !deltas.is_finished {
                if let Err(error) = deltas.read_event().await {
                    return Some((Err(error), None));
                }
            }
            if let Some(delta) = deltas.decoded.pop_front() {
                return Some((Ok(delta), Some(deltas)));
            }
            if let Some(failure) = deltas.failure.take() {
                return Some((Err(failure), None));
            }
            if deltas.permit.is_some() {
                let rest = async { while deltas.events.next().await.is_some() {} };
                // The rest of the body has no meaning. After a timeout, the client closes the connection instead of reusing it.
                let _ = timeout(MAX_LINGER, rest).await;
            }
            None
        })
    }
}

/// Returns the deltas of an event stream, such as a recorded one. The result ends after the last delta or the first error.
pub fn decode_deltas<'a, B, E, D>(
    bytes: impl Stream<Item = Result<B, E>> + Send + 'a,
    decoder: D,
) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'a
where
    B: AsRef<[u8]> + Send + 'a,
    E: Into<Box<dyn StdError + Send + Sync>> + 'a,
    D: Decode + 'a,
{
    let bytes = bytes.map_err(|error| {
        ModelError::new(ModelErrorKind::Unavailable, "the recorded response cannot be read").with_source(error)
    });
    DeltaStream::new(parse_events(bytes, EventParser::new(false, usize::MAX)), decoder).into_stream()
}

/// Returns the time after `wait`. In place of one beyond the range of the clock, that is 30 years away.
fn end_of(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now + Duration::from_hours(30 * 365 * 24))
}

/// Reads the chunks of a response's body: the first until `deadline`, and each other within `idle` after the previous one.
fn read_chunks(
    response: Response,
    deadline: Instant,
    first: Duration,
    idle: Duration,
) -> impl Stream<Item = Result<impl AsRef<[u8]> + Send, ModelError>> + Send {
    stream::try_unfold((response, deadline, first), move |(mut response, deadline, wait)| async move {
        let chunk =
            timeout_at(deadline, response.chunk()).await.map_err(|_| timeout_error(wait))?.map_err(broken_off_error)?;
        Ok(chunk.map(|chunk| (chunk, (response, end_of(idle), idle))))
    })
}

/// Parses `bytes` into the data of events.
fn parse_events<'a, B: AsRef<[u8]> + Send + 'a>(
    bytes: impl Stream<Item = Result<B, ModelError>> + Send + 'a,
    mut parser: EventParser,
) -> BoxStream<'a, Result<String, ModelError>> {
    let data = bytes.map(Some).chain(stream::once(async { None })).flat_map(move |chunk| match chunk {
        Some(Ok(chunk)) => stream::iter(parser.push(chunk.as_ref())),
        Some(Err(error)) => stream::iter(vec![Err(error)]),
        None => stream::iter(parser.finish().into_iter().collect::<Vec<_>>()),
    });
    data.boxed()
}

pub fn request_error(error: reqwest::Error) -> ModelError {
    if error.is_builder() {
        let message = "invalid base URL of the model: use an absolute `http` or `https` URL";
        return ModelError::new(ModelErrorKind::Configuration, message).with_source(error.without_url());
    }
    let url = error.url();
    let host = url.and_then(|url| url.host_str()).unwrap_or("the provider");
    let port = url.and_then(reqwest::Url::port).map(|port| format!(":{port}")).unwrap_or_default();
    let what = if error.is_connect() {
        "cannot be reached (check the base URL, and that the server runs)"
    } else {
        "broke the connection before it responded"
    };
    ModelError::new(ModelErrorKind::Unavailable, format!("{host}{port} {what}")).with_source(error.without_url())
}

fn broken_off_error(error: reqwest::Error) -> ModelError {
    let message = "the connection broke while the response was read";
    ModelError::new(ModelErrorKind::Unavailable, message).with_source(error.without_url())
}

fn timeout_error(wait: Duration) -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, format!("the provider sent nothing for {wait:?}"))
}

/// A parser of server-sent events that looks at each byte once. It reads only `data` lines, because providers repeat the
/// event's name in the data. A body that is one JSON value is one event: servers send one if they do not stream, and for an
/// error with a success status.
///
/// The crate `sse-stream` is no substitute: it does not limit the size of events, and refuses lines that the standard ignores.
#[derive(Debug)]
struct EventParser {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    has_begun: bool,
    /// Set if the last byte was a CR. A following LF is part of the same line end.
    is_after_cr: bool,
    /// Set if the response declares that it is JSON.
    is_json: bool,
    /// Set if the first line is none of an event. The data is the whole body then.
    is_body: bool,
    max_length: usize,
}

impl EventParser {
    /// Creates a parser of events of at most `max_length` bytes each.
    fn new(is_json: bool, max_length: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            has_begun: false,
            is_after_cr: false,
            is_json,
            is_body: false,
            max_length,
        }
    }

    /// Returns the body at the end of the response, if the response has no events.
    fn finish(&mut self) -> Option<Result<String, ModelError>> {
        if (self.is_body || !self.has_begun)
            && let Some(error) = self.end_line()
        {
            return Some(error);
        }
        let text = |data| String::from_utf8(data).map_err(|error| not_utf8_error().with_source(error));
        self.is_body.then(|| text(std::mem::take(&mut self.data)))
    }

    /// Returns whether `line`, the first one, begins a body that is one JSON value. Some servers declare another type.
    fn begins_body(&self, line: &[u8]) -> bool {
        let is_of_event = [&b":"[..], b"data", b"event", b"id", b"retry"].iter().any(|name| line.starts_with(name));
        !is_of_event && (self.is_json || line.starts_with(b"{") || line.starts_with(b"["))
    }

    /// Reads the next bytes, and returns the events that end in them.
    fn push(&mut self, bytes: &[u8]) -> Vec<Result<String, ModelError>> {
        let mut out = Vec::new();
        let mut rest = bytes;
        if self.is_after_cr && !rest.is_empty() {
            self.is_after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&rest[..end]);
            out.extend(self.end_line());
            let ended_by = rest[end];
            rest = &rest[end + 1..];
            if ended_by == b'\r' {
                self.is_after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.line.extend_from_slice(rest);
        if self.line.len() + self.data.len() > self.max_length {
            out.push(Err(too_long_error(self.max_length)));
        }
        out
    }

    fn end_line(&mut self) -> Option<Result<String, ModelError>> {
        let mut line = self.line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
            // Before the first line, a blank one has no meaning.
            self.has_begun = !line.trim_ascii().is_empty();
            self.is_body = self.has_begun && self.begins_body(line.trim_ascii_start());
        }
        if self.is_body {
            self.data.extend_from_slice(line);
            self.data.push(b'\n');
            self.line.clear();
            return (self.data.len() > self.max_length).then(|| Err(too_long_error(self.max_length)));
        }
        if line.is_empty() {
            self.line.clear();
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data)
                .then(|| String::from_utf8(data).map_err(|error| not_utf8_error().with_source(error)));
        }
        let value = line.strip_prefix(b"data").and_then(|rest| match rest {
            [] => Some(rest),
            [b':', value @ ..] => Some(value.strip_prefix(b" ").unwrap_or(value)),
            _ => None,
        });
        if let Some(value) = value {
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value);
        }
        self.line.clear();
        (self.data.len() > self.max_length).then(|| Err(too_long_error(self.max_length)))
    }
}

fn too_long_error(max_length: usize) -> ModelError {
    let message =
        format!("the provider sent an event of more than {max_length} bytes (`Http::max_event_bytes` sets the limit)");
    ModelError::new(ModelErrorKind::Protocol, message)
}

fn not_utf8_error() -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, "the provider's response is not valid UTF-8")
}

/// Helpers for tests of decoders.
#[cfg(test)]
pub mod testing {
    use futures_util::{FutureExt, StreamExt, stream};
    use tool_runtime::model::{Delta, ModelError, Turn};

    use super::{Decode, DeltaStream};

    /// Decodes a response that consists of these events.
    pub fn decode(
        decoder: impl Decode + 'static,
        events: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Vec<Delta>, ModelError> {
        let events: Vec<_> = events.into_iter().map(|event| Ok(event.as_ref().to_owned())).collect();
        let deltas = DeltaStream::new(stream::iter(events).boxed(), decoder).into_stream().collect::<Vec<_>>();
        deltas.now_or_never().expect("all events are there").into_iter().collect()
    }

    pub fn turn_of(deltas: Vec<Delta>) -> Turn {
        let mut turn = Turn::default();
        for delta in deltas {
            turn.push(delta);
        }
        turn
    }

    /// Returns the id, the name and the arguments of each call.
    #[cfg(feature = "openai")]
    pub fn calls(turn: &Turn) -> Vec<(&str, &str, &str)> {
        turn.calls().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut parser = EventParser::new(false, usize::MAX);
        let mut events: Vec<_> = chunks.into_iter().flat_map(|chunk| parser.push(chunk)).collect();
        events.extend(parser.finish());
        events.into_iter().map(|event| event.unwrap_or("?".into())).collect()
    }

    #[test]
    fn aws_refuses_a_token_with_another_status() {
        let refused = |host| [401, 403].map(|status| refuses_credentials(StatusCode::from_u16(status).unwrap(), host));
        assert_eq!(refused("bedrock-mantle.us-east-1.api.aws"), [true, true]);
        assert_eq!(refused("api.openai.com"), [true, false]);
    }

    #[test]
    fn events_are_parsed_as_the_standard_requires() {
        let cases: [(&str, &[&str]); 18] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\r", &["a", "b"]),
            ("data: a\ndata:b\ndata\n\n", &["a\nb\n"]),
            ("data:  a\n\n", &[" a"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a\n\n\u{feff}data: b\n\n", &["a"]),
            (": comment\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", &["a"]),
            ("datum: a\n\nDATA: b\n\n", &[]),
            ("event: x\n\n", &[]),
            ("data\n\n", &[""]),
            ("data: a\n\n\n\n", &["a"]),
            ("data: a\n", &[]),
            ("data: a", &[]),
            ("", &[]),
            ("{\"a\": 1}", &["{\"a\": 1}\n"]),
            ("\u{feff}\r\n {\r\n\"data\": 1\r\n\r\n}\r\n", &[" {\n\"data\": 1\n\n}\n\n"]),
            ("[\n1]", &["[\n1]\n"]),
            ("\n\ndata: a\n\n{\n\n", &["a"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split([text.as_bytes()]), expected, "{text:?}");
            assert_eq!(split(text.as_bytes().chunks(1)), expected, "{text:?}, byte by byte");
        }
    }

    #[test]
    fn long_and_garbled_events_are_errors() {
        let parse = |text: &[u8]| -> Vec<_> {
            let events = EventParser::new(false, 10).push(text);
            events.into_iter().map(|event| event.map_err(|error| error.to_string())).collect()
        };
        assert!(parse(b"data: 01234567890")[0].is_err());
        assert!(parse(b"data: 012345\ndata: 67890\n")[0].is_err());
        assert_eq!(parse(b"data: 0123\n\ndata: 4567\n\n").len(), 2);
        assert_eq!(parse(b"data: \xff\n\n"), [Err("the provider's response is not valid UTF-8".to_owned())]);
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_the_cuts(bytes in "([a:{\r\n \u{feff}ü]|data|data: |\n\n){0,40}", sizes in proptest::collection::vec(1_usize..9, 1..20)) {
            let mut chunks = Vec::new();
            let mut rest = bytes.as_bytes();
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, more) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = more;
            }
            prop_assert_eq!(split(chunks), split([bytes.as_bytes()]));
        }
    }
}
