//! The transport of all models over HTTP: a POST whose response is a stream of events.
//!
//! An [`Http`] contains timeouts, retries and rate limits, and is cheap to clone. Clones share their connections and
//! [`HttpLimits`], so several models with clones of one `Http` stay within one quota.

mod bearer;
mod repair;
pub(crate) mod response;

use std::{
    collections::VecDeque,
    error::Error as StdError,
    sync::{Arc, OnceLock},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use reqwest::{
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use secrecy::{ExposeSecret, SecretString};
use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use self::{
    bearer::Tokens,
    response::{Decode, DeltaStream, Reply},
};
use tool_runtime::model::{Delta, ModelError, ModelErrorKind};
use tracing::debug;

pub use bearer::BearerToken;
pub use response::decode_deltas;

/// The headers that contain a model's key.
const KEY_HEADERS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];

/// A client for requests to a provider, with its settings. Clones share the connections and the limits.
///
/// ```
/// use std::time::Duration;
/// use tool_models::http::{Http, HttpLimits, HttpRetry, HttpTimeouts};
///
/// let http = Http::new()
///     .retry(HttpRetry { max_retries: 5, ..HttpRetry::default() })
///     .limits(HttpLimits { max_in_flight: 8, max_per_minute: 60 })
///     .timeouts(HttpTimeouts { idle: Duration::from_secs(30), ..HttpTimeouts::default() })
///     .header("x-title", "my application");
/// # let _ = http;
/// ```
#[derive(Clone, Debug)]
pub struct Http {
    retry: HttpRetry,
    timeouts: HttpTimeouts,
    max_event_bytes: usize,
    headers: Vec<(String, SecretString)>,
    tokens: Option<Arc<Tokens>>,
    limiter: Arc<Limiter>,
    /// The client, which the first request creates, so that creating a model cannot fail.
    client: Arc<OnceLock<reqwest::Client>>,
}

/// The time limits of a request. A request that exceeds one fails with [`ModelErrorKind::Unavailable`]. Before the first delta of
/// the turn has arrived, [`HttpRetry`] states how often it is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// The limit for connecting, including TLS. The default is 10 seconds.
    pub connect: Duration,
    /// The limit from sending the request to the first bytes of the response's body. The default is 5 minutes, because a model
    /// may reason first.
    pub first_byte: Duration,
    /// The limit between two chunks of the body. A provider's keep-alive counts as a chunk. The default is 2 minutes.
    pub idle: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_byte: seconds(300), idle: seconds(120) }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            retry: HttpRetry::default(),
            timeouts: HttpTimeouts::default(),
            max_event_bytes: 4 << 20,
            headers: Vec::new(),
            tokens: None,
            limiter: Arc::default(),
            client: Arc::default(),
        }
    }
}

/// A function that returns the body to send in place of one that failed with this error, if there is one.
pub(super) type Substitute<'a> = Box<dyn Fn(&ModelError) -> Option<Vec<u8>> + Send + Sync + 'a>;

/// A POST request, which can be sent again.
pub(super) struct Post<'a> {
    pub url: String,
    /// The model's own headers. A header of the [`Http`] with the same name replaces one of these.
    pub headers: Vec<(&'static str, SecretString)>,
    pub body: Vec<u8>,
    /// The body that is sent once if the provider refuses `body`.
    pub substitute: Option<Substitute<'a>>,
}

impl Http {
    /// Creates a client with the defaults of [`HttpRetry`], [`HttpTimeouts`] and [`HttpLimits`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the retries of a failed request.
    pub fn retry(mut self, retry: HttpRetry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the time limits.
    pub fn timeouts(mut self, timeouts: HttpTimeouts) -> Self {
        if timeouts.connect != self.timeouts.connect {
            self.client = Arc::default();
        }
        self.timeouts = timeouts;
        self
    }

    /// Sets the rate limits, for this value and its later clones. Earlier clones keep their limits.
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.limiter = Arc::new(Limiter::new(limits));
        self
    }

    /// Sets the maximum size of an event, or of a response that is one JSON value, in bytes. The default is 4 MiB. A larger one
    /// fails the turn, so that a provider cannot fill the memory.
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Adds a header to every request, and replaces one of the same name. `Debug` does not show the value, and errors do not
    /// show it, unless it has fewer than 8 bytes. An invalid name or value fails each request ([`ModelErrorKind::Configuration`]).
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        self.headers.push((name, SecretString::from(value.into())));
        self
    }

    /// Sends a bearer token from `source` in place of the model's key. For Microsoft Entra, Google or AWS, whose tokens expire.
    ///
    /// Clones share the token. A request calls `source` if there is no token, or shortly before the token expires. If the provider
    /// refuses a token (401, or 403 at AWS), the request is sent once more with a new one, apart from [`HttpRetry`]. Several requests at once wait
    /// for one call. `Debug` and errors do not show the token.
    ///
    /// If `source` fails, so does the request. If its error is a [`ModelError`], that is the request's error, so
    /// [`ModelErrorKind::Unavailable`] causes a retry. Any other error is the cause of one of the kind
    /// [`ModelErrorKind::Unauthorized`]. `source` has as much time as [`HttpTimeouts::first_byte`].
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use tool_models::http::{BearerToken, Http};
    ///
    /// # async fn sign_in() -> std::io::Result<(String, Duration)> { Ok(("…".into(), Duration::from_hours(1))) }
    /// let http = Http::new().bearer_auth(|| async {
    ///     let (token, lifetime) = sign_in().await?;
    ///     Ok(BearerToken::new(token).expires_at(SystemTime::now() + lifetime))
    /// });
    /// # let _ = http;
    /// ```
    pub fn bearer_auth<F, Fut>(mut self, source: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<BearerToken, Box<dyn StdError + Send + Sync>>> + Send + 'static,
    {
        self.tokens = Some(Arc::new(Tokens::new(source)));
        self
    }

    /// Returns the deltas of the response to `post`. The first poll of the stream sends the request. Dropping the stream ends
    /// the request.
    pub(super) fn stream<'a, D: Decode + 'static>(
        &'a self,
        post: Post<'a>,
        decoder: impl Fn() -> D + Send + Sync + 'a,
    ) -> BoxStream<'a, Result<Delta, ModelError>> {
        stream::once(self.start(post, decoder)).map_ok(DeltaStream::into_stream).try_flatten().boxed()
    }

    /// Sends the request, or its substitute, until the first delta arrives. The stream returns later errors, because a retry would
    /// repeat the deltas before them.
    async fn start<D: Decode + 'static>(
        &self,
        post: Post<'_>,
        decoder: impl Fn() -> D,
    ) -> Result<DeltaStream<'static, D>, ModelError> {
        let extra_headers = self.headers.iter().map(|(name, value)| (name.as_str(), value));
        let is_sent = |name: &str| self.tokens.is_none() || !KEY_HEADERS.contains(&name);
        let own_headers = post.headers.iter().map(|(name, value)| (*name, value)).filter(|(name, _)| is_sent(name));
        let headers = build_header_map(own_headers.chain(extra_headers))?;
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let client = build_client(self.timeouts.connect)?;
                self.client.get_or_init(|| client)
            }
        };
        let first = self.open(client, &post.url, &headers, post.body, &decoder).await;
        let body = first.as_ref().err().and_then(|error| post.substitute.as_ref()?(error));
        match body {
            Some(body) => self.open(client, &post.url, &headers, body, &decoder).await,
            None => first,
        }
    }

    /// Sends one body, with retries, until the first delta arrives.
    async fn open<D: Decode + 'static>(
        &self,
        client: &reqwest::Client,
        url: &str,
        headers: &HeaderMap,
        body: Vec<u8>,
        decoder: &impl Fn() -> D,
    ) -> Result<DeltaStream<'static, D>, ModelError> {
        let request = client.post(url).headers(headers.clone()).body(body).build().map_err(response::request_error)?;
        let attempt = || async {
            let permit = self.limiter.acquire().await;
            let reply = self.send(client, &request).await?;
            let mut deltas = DeltaStream::open(reply, self, decoder()).await?.with_permit(permit);
            deltas.read_first_delta().await?;
            Ok(deltas)
        };
        let max_wait = self.retry.max_wait;
        attempt
            .retry(self.retry.backoff())
            .when(ModelError::is_transient)
            .adjust(move |error, wait| next_wait(error.retry_after(), wait, max_wait))
            .notify(|error, wait| debug!("a request to the model is sent again in {} s: {error}", wait.as_secs_f64()))
            .await
    }

    /// Sends the request. If the provider refuses the bearer token, sends it once more with a new one.
    async fn send(&self, client: &reqwest::Client, request: &reqwest::Request) -> Result<Reply, ModelError> {
        let wait = self.timeouts.first_byte;
        let copy = || request.try_clone().expect("a body of bytes can be sent again");
        let Some(tokens) = &self.tokens else {
            return Reply::receive(client, copy(), wait).await;
        };
        let send = async |token: &BearerToken| {
            let mut request = copy();
            request.headers_mut().insert(AUTHORIZATION, token.to_header()?);
            Reply::receive(client, request, wait).await
        };
        let token = tokens.get(None, wait).await?;
        let reply = send(&token).await?;
        if !reply.is_unauthorized() {
            return Ok(reply);
        }
        let renewed = tokens.get(Some(&token), wait).await?;
        if renewed.is_same(&token) {
            return Ok(reply);
        }
        self.limiter.wait_for_quota().await;
        send(&renewed).await
    }
}

fn build_client(connect: Duration) -> Result<reqwest::Client, ModelError> {
    let result = build_tls_config().map_err(Into::into).and_then(|tls| {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(connect)
            // A redirect would send the key and the conversation to another host.
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")));
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(client.build()?)
    });
    result.map_err(|error| {
        let message = "the HTTPS client cannot be created on this system";
        ModelError::new(ModelErrorKind::Configuration, message).with_source(error)
    })
}

/// Returns the headers to send, each marked as sensitive.
fn build_header_map<'a>(headers: impl Iterator<Item = (&'a str, &'a SecretString)>) -> Result<HeaderMap, ModelError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let invalid = |what: &str| {
            let message = format!("the {what} of the header `{name}` holds characters that a header cannot carry");
            ModelError::new(ModelErrorKind::Configuration, message)
        };
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| invalid("value"))?;
        value.set_sensitive(true);
        map.insert(HeaderName::try_from(name).map_err(|_| invalid("name"))?, value);
    }
    Ok(map)
}

/// Returns a TLS configuration that checks certificates with the system's verifier. The configuration has its own cryptography
/// provider, so the process needs none.
///
/// Fails when the system's verifier is missing.
fn build_tls_config() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}

/// The retries of a failed request. Only a temporary failure ([`ModelError::is_transient`]) before the first delta of the
/// response causes a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRetry {
    /// The maximum number of retries. The default is 2.
    pub max_retries: usize,
    /// The wait before the first retry. The wait doubles with each retry, and a random time of up to the same length is added.
    /// The default is 500 ms.
    pub first_wait: Duration,
    /// The maximum wait. If a provider asks for a longer wait, the request fails without a retry, and the error has that wait
    /// ([`ModelError::retry_after`]). The default is 60 seconds.
    pub max_wait: Duration,
}

impl Default for HttpRetry {
    fn default() -> Self {
        Self { max_retries: 2, first_wait: Duration::from_millis(500), max_wait: Duration::from_mins(1) }
    }
}

impl HttpRetry {
    /// Returns settings without retries.
    pub fn never() -> Self {
        Self { max_retries: 0, ..Self::default() }
    }

    fn backoff(&self) -> ExponentialBuilder {
        ExponentialBuilder::default()
            .with_min_delay(self.first_wait)
            .with_max_delay(self.max_wait)
            .with_max_times(self.max_retries)
            .with_jitter()
    }
}

/// Returns the wait before the next attempt: the requested one, but at least `planned`, which is capped at `max_wait`. Returns
/// `None` if there is no next attempt, because none is planned or the requested wait exceeds `max_wait`.
fn next_wait(requested: Option<Duration>, planned: Option<Duration>, max_wait: Duration) -> Option<Duration> {
    let planned = planned?.min(max_wait);
    match requested {
        Some(requested) if requested > max_wait => None,
        Some(requested) => Some(requested.max(planned)),
        None => Some(planned),
    }
}

const MINUTE: Duration = Duration::from_mins(1);

/// The rate limits of requests. Requests above a limit wait in the order of their arrival. A limit of 0 counts as 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// The maximum number of requests whose responses are still being read. By default there is no limit.
    pub max_in_flight: usize,
    /// The maximum number of requests that begin within any 60 seconds, including retries. By default there is no limit.
    pub max_per_minute: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self { max_in_flight: Semaphore::MAX_PERMITS, max_per_minute: usize::MAX }
    }
}

/// The limiter that enforces [`HttpLimits`] on all clones that share it.
#[derive(Debug)]
struct Limiter {
    slots: Arc<Semaphore>,
    max_per_minute: usize,
    /// The start times of the latest requests, at most `max_per_minute`.
    recent_starts: Mutex<VecDeque<Instant>>,
}

impl Default for Limiter {
    fn default() -> Self {
        Self::new(HttpLimits::default())
    }
}

impl Limiter {
    fn new(limits: HttpLimits) -> Self {
        // With a limit of zero, requests would wait forever.
        let slots = Arc::new(Semaphore::new(limits.max_in_flight.clamp(1, Semaphore::MAX_PERMITS)));
        Self { slots, max_per_minute: limits.max_per_minute.max(1), recent_starts: Mutex::default() }
    }

    /// Waits until the limits allow a request. The request counts as in flight until the returned permit is dropped.
    async fn acquire(&self) -> OwnedSemaphorePermit {
        let permit = self.slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        self.wait_for_quota().await;
        permit
    }

    /// Waits until the quota of a minute allows a request, and counts the request.
    async fn wait_for_quota(&self) {
        if self.max_per_minute < usize::MAX {
            // A waiting request holds the lock. The lock is fair, so the other requests queue for it in order.
            let mut recent_starts = self.recent_starts.lock().await;
            if recent_starts.len() >= self.max_per_minute
                && let Some(oldest) = recent_starts.front().copied()
            {
                sleep_until(oldest + MINUTE).await;
                recent_starts.pop_front();
            }
            recent_starts.push_back(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_the_requested_one_up_to_the_cap() {
        let seconds = Duration::from_secs;
        let cap = seconds(60);
        assert_eq!(next_wait(None, Some(seconds(1)), cap), Some(seconds(1)));
        assert_eq!(next_wait(None, Some(seconds(100)), cap), Some(cap));
        assert_eq!(next_wait(Some(seconds(5)), Some(seconds(1)), cap), Some(seconds(5)));
        assert_eq!(next_wait(Some(seconds(1)), Some(seconds(5)), cap), Some(seconds(5)));
        assert_eq!(next_wait(Some(seconds(61)), Some(seconds(5)), cap), None);
        assert_eq!(next_wait(Some(seconds(1)), None, cap), None, "the tries are used up");
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_requests_than_the_quota() {
        let limiter = Limiter::new(HttpLimits { max_per_minute: 3, ..HttpLimits::default() });
        let start = Instant::now();
        let mut begun = Vec::new();
        for _ in 0..8 {
            drop(limiter.acquire().await);
            begun.push(start.elapsed().as_secs());
        }
        assert_eq!(begun, [0, 0, 0, 60, 60, 60, 120, 120]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_does_not_use_up_the_quota() {
        let limiter = Limiter::new(HttpLimits { max_per_minute: 1, ..HttpLimits::default() });
        drop(limiter.acquire().await);
        assert!(tokio::time::timeout(Duration::from_secs(1), limiter.acquire()).await.is_err());
        let start = Instant::now();
        drop(limiter.acquire().await);
        assert_eq!(start.elapsed().as_secs(), 59);
    }

    #[tokio::test]
    async fn a_slot_is_free_again_when_its_permit_is_dropped() {
        let limiter = Limiter::new(HttpLimits { max_in_flight: 1, ..HttpLimits::default() });
        let held = limiter.acquire().await;
        let brief = Duration::from_millis(10);
        assert!(tokio::time::timeout(brief, limiter.acquire()).await.is_err());
        drop(held);
        assert!(tokio::time::timeout(brief, limiter.acquire()).await.is_ok());
    }
}
