//! The transport that the models over HTTP share: one POST, answered by a stream of events.
//!
//! An [`Http`] knows how long to wait, how often to try again and how fast to ask. Cloning it is cheap, and clones share
//! their connections and their [`Limits`], so one `Http` given to several models keeps them within one quota.

mod client;
mod limit;
mod reading;
mod retry;
mod sse;
mod status;

use std::{sync::Arc, time::Duration};

use backon::Retryable;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use reqwest::header::HeaderMap;
use secrecy::SecretString;

use self::{client::Client, limit::Limiter, reading::Reading};
use crate::Decode;
use tool_runtime::model::{Delta, ModelError};

pub use limit::Limits;
pub use reading::deltas;
pub use retry::Retry;

/// How requests to a provider are sent.
///
/// ```
/// use std::time::Duration;
/// use tool_models::http::{Http, Limits, Retry, Timeouts};
///
/// let http = Http::new()
///     .retry(Retry { max: 5, ..Retry::default() })
///     .limits(Limits { in_flight: 8, per_minute: 60 })
///     .timeouts(Timeouts { idle: Duration::from_secs(30), ..Timeouts::default() })
///     .header("x-title", "my application");
/// # let _ = http;
/// ```
#[derive(Clone, Debug)]
pub struct Http {
    retry: Retry,
    timeouts: Timeouts,
    max_event: usize,
    headers: Vec<(String, SecretString)>,
    limiter: Arc<Limiter>,
    client: Arc<Client>,
}

/// How long to wait for a provider before the turn fails with
/// [`ModelErrorKind::Unavailable`](tool_runtime::model::ModelErrorKind::Unavailable).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection, TLS included. 10 seconds.
    pub connect: Duration,
    /// From sending the request to the first bytes of the answer's body. 5 minutes: a model may think before it speaks.
    pub first: Duration,
    /// Between two pieces of the body; a provider's keep-alive counts as one. 2 minutes.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first: seconds(300), idle: seconds(120) }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            retry: Retry::default(),
            timeouts: Timeouts::default(),
            max_event: 4 << 20,
            headers: Vec::new(),
            limiter: Arc::default(),
            client: Arc::default(),
        }
    }
}

/// One request, ready to be sent any number of times.
pub(super) struct Post {
    pub(super) url: String,
    /// In addition to those of the [`Http`], which win.
    pub(super) headers: Vec<(&'static str, SecretString)>,
    pub(super) body: Vec<u8>,
}

impl Http {
    /// The defaults: see [`Retry`], [`Timeouts`] and [`Limits`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how often and when a request is tried again.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets how long to wait.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        if timeouts.connect != self.timeouts.connect {
            self.client = Arc::default();
        }
        self.timeouts = timeouts;
        self
    }

    /// Sets how fast to ask. What this value's clones ask from now on counts; earlier clones keep their own limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limiter = Arc::new(Limiter::new(limits));
        self
    }

    /// Sets the size, in bytes, up to which one event of an answer is taken; 4 MiB at first. A longer one fails the turn,
    /// so that a provider cannot fill the memory.
    pub fn max_event(mut self, bytes: usize) -> Self {
        self.max_event = bytes;
        self
    }

    /// Adds a header to every request; one of the same name is replaced. Its value is taken for a secret: it is shown
    /// neither by `Debug` nor in errors.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        self.headers.push((name, SecretString::from(value.into())));
        self
    }

    /// Sends `post` and decodes the answer. Nothing is sent before the stream is polled; dropping it ends the request.
    pub(super) fn stream<'a, D: Decode + 'static>(
        &'a self,
        post: Post,
        decoder: impl Fn() -> D + Send + Sync + 'a,
    ) -> BoxStream<'a, Result<Delta, ModelError>> {
        stream::once(self.start(post, decoder)).map_ok(Reading::into_stream).try_flatten().boxed()
    }

    /// Tries until the first delta is there. From then on a failure is the caller's: what was handed out cannot be taken
    /// back.
    async fn start<D: Decode + 'static>(
        &self,
        post: Post,
        decoder: impl Fn() -> D,
    ) -> Result<Reading<'static, D>, ModelError> {
        let headers = self.header_map(&post)?;
        let client = self.client.get(&self.timeouts)?;
        let Post { url, body, .. } = post;
        let request = client.post(url).headers(headers.clone()).body(body).build().map_err(reading::unreachable)?;
        let attempt = || async {
            let permit = self.limiter.acquire().await;
            let answer = client.execute(request.try_clone().expect("a body of bytes can be sent again"));
            let mut reading = Reading::open(answer, &headers, self, decoder()).await?.holding(permit);
            reading.begin().await?;
            Ok(reading)
        };
        let cap = self.retry.cap;
        attempt
            .retry(self.retry.backoff())
            .when(ModelError::is_transient)
            .adjust(move |error, wait| retry::wait(error.wait(), wait, cap))
            .await
    }

    fn header_map(&self, post: &Post) -> Result<HeaderMap, ModelError> {
        client::header_map(
            post.headers
                .iter()
                .map(|(name, value)| (*name, value))
                .chain(self.headers.iter().map(|(name, value)| (name.as_str(), value))),
        )
    }
}
