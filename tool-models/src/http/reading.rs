//! Reading an answer: bytes to events to deltas.

use std::{collections::VecDeque, error, time::Duration};

use futures_util::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderMap},
};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout, timeout_at},
};

use super::{
    Http,
    sse::{Events, garbled, too_long},
};
use crate::{decode::Decode, fault};
use tool_runtime::model::{Delta, ModelError, ModelErrorKind};

/// How long the end of a body is waited for once its last event is read: only a body read to its end leaves a
/// connection that the next request can use.
const LINGER: Duration = Duration::from_millis(200);

/// An answer that is being read.
pub struct Reading<'a, D> {
    events: BoxStream<'a, Result<String, ModelError>>,
    decoder: D,
    ready: VecDeque<Delta>,
    finished: bool,
    /// Keeps the request counted as in flight.
    permit: Option<OwnedSemaphorePermit>,
}

impl<D: Decode + 'static> Reading<'static, D> {
    /// Waits for the head of an answer.
    pub async fn open(
        answer: impl Future<Output = reqwest::Result<Response>>,
        sent: &HeaderMap,
        http: &Http,
        decoder: D,
    ) -> Result<Self, ModelError> {
        let wait = http.timeouts.first;
        let deadline = Instant::now() + wait;
        let head = async {
            let answer = answer.await.map_err(unreachable)?;
            if answer.status().is_success() { Ok(answer) } else { Err(fault::read_answer(answer, sent).await) }
        };
        let answer = timeout_at(deadline, head).await.map_err(|_| silent(wait))??;
        let is_json =
            answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let bytes = chunks(answer, deadline, wait, http.timeouts.idle);
        let events = if is_json { whole(bytes, http.max_event) } else { events(bytes, http.max_event) };
        Ok(Self::new(events, decoder))
    }
}

impl<'a, D: Decode + 'a> Reading<'a, D> {
    fn new(events: BoxStream<'a, Result<String, ModelError>>, decoder: D) -> Self {
        Self { events, decoder, ready: VecDeque::new(), finished: false, permit: None }
    }

    pub fn holding(mut self, permit: OwnedSemaphorePermit) -> Self {
        self.permit = Some(permit);
        self
    }

    /// Reads until the model has said something or the answer is over. A count of tokens says nothing yet: providers
    /// send one before they find that they are overloaded.
    pub async fn begin(&mut self) -> Result<(), ModelError> {
        while self.ready.iter().all(|delta| matches!(delta, Delta::Usage(_))) && !self.finished {
            self.read().await?;
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), ModelError> {
        let more = if let Some(event) = self.events.next().await {
            self.decoder.event(&event?)?
        } else {
            self.finished = true;
            self.decoder.end()?
        };
        self.finished |= matches!(more.last(), Some(Delta::Finish(_)));
        self.ready.extend(more);
        Ok(())
    }

    /// The deltas, ending after the last one or the first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'a {
        stream::unfold(Some(self), |reading| async {
            let mut reading = reading?;
            while reading.ready.is_empty() && !reading.finished {
                if let Err(error) = reading.read().await {
                    return Some((Err(error), None));
                }
            }
            if let Some(delta) = reading.ready.pop_front() {
                return Some((Ok(delta), Some(reading)));
            }
            if reading.permit.is_some() {
                let rest = async { while reading.events.next().await.is_some() {} };
                // What follows the end is of no interest, and neither is whether it ended in time.
                let _ = timeout(LINGER, rest).await;
            }
            None
        })
    }
}

/// Decodes the bytes of an event stream, such as a recorded one.
pub fn deltas<'a, B, E, D>(
    bytes: impl Stream<Item = Result<B, E>> + Send + 'a,
    decoder: D,
) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'a
where
    B: AsRef<[u8]> + Send + 'a,
    E: Into<Box<dyn error::Error + Send + Sync>> + 'a,
    D: Decode + 'a,
{
    let bytes = bytes.map_err(|error| {
        ModelError::new(ModelErrorKind::Unavailable, "the recorded answer cannot be read").with_source(error)
    });
    Reading::new(events(bytes, usize::MAX), decoder).into_stream()
}

/// The pieces of an answer's body. Each must come in time.
fn chunks(
    answer: Response,
    deadline: Instant,
    first: Duration,
    idle: Duration,
) -> impl Stream<Item = Result<impl AsRef<[u8]> + Send, ModelError>> + Send {
    stream::try_unfold((answer, deadline, first), move |(mut answer, deadline, wait)| async move {
        let chunk = timeout_at(deadline, answer.chunk()).await.map_err(|_| silent(wait))?.map_err(broken)?;
        Ok(chunk.map(|chunk| (chunk, (answer, Instant::now() + idle, idle))))
    })
}

/// The data of the events in `bytes`; each may have `most` bytes.
fn events<'a, B: AsRef<[u8]> + Send + 'a>(
    bytes: impl Stream<Item = Result<B, ModelError>> + Send + 'a,
    most: usize,
) -> BoxStream<'a, Result<String, ModelError>> {
    let mut events = Events::new(most);
    let data = bytes.flat_map(move |chunk| match chunk {
        Ok(chunk) => stream::iter(events.push(chunk.as_ref())),
        Err(error) => stream::iter(vec![Err(error)]),
    });
    data.boxed()
}

/// A body that is one JSON value, as servers answer that do not stream, or that put an error into a success.
fn whole<'a, B: AsRef<[u8]> + Send + 'a>(
    bytes: impl Stream<Item = Result<B, ModelError>> + Send + 'a,
    most: usize,
) -> BoxStream<'a, Result<String, ModelError>> {
    let body = async move {
        let body = bytes
            .try_fold(Vec::new(), |mut body: Vec<u8>, chunk| async move {
                body.extend_from_slice(chunk.as_ref());
                if body.len() > most { Err(too_long(most)) } else { Ok(body) }
            })
            .await?;
        String::from_utf8(body).map_err(|error| garbled().with_source(error))
    };
    stream::once(body).boxed()
}

pub fn unreachable(error: reqwest::Error) -> ModelError {
    if error.is_builder() {
        let message = "the base URL of the model is not a URL that requests can be sent to";
        return ModelError::new(ModelErrorKind::Configuration, message).with_source(error.without_url());
    }
    let host = error.url().and_then(|url| url.host_str()).unwrap_or("the provider").to_owned();
    let what = if error.is_connect() { "cannot be reached" } else { "broke the connection before it answered" };
    ModelError::new(ModelErrorKind::Unavailable, format!("{host} {what}")).with_source(error.without_url())
}

fn broken(error: reqwest::Error) -> ModelError {
    let message = "the connection broke while the answer was read";
    ModelError::new(ModelErrorKind::Unavailable, message).with_source(error.without_url())
}

fn silent(wait: Duration) -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, format!("the provider sent nothing for {wait:?}"))
}
