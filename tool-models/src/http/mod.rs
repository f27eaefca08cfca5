//! The transport that the models over HTTP share: one POST, answered by a stream of events.
//!
//! An [`Http`] knows how long to wait, how often to try again and how fast to ask. Cloning it is cheap, and clones
//! share their connections and their [`Limits`], so one `Http` given to several models keeps them within one quota.

pub(crate) mod reading;

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use reqwest::{
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use secrecy::{ExposeSecret, SecretString};
use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use self::reading::{Decode, Reading};
use tool_runtime::model::{Delta, ModelError, ModelErrorKind};

pub use reading::deltas;

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
    /// Made at the first use, so that making a model cannot fail.
    client: Arc<OnceLock<reqwest::Client>>,
}

/// How long to wait for a provider before the turn fails with
/// [`ModelErrorKind::Unavailable`].
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
    pub url: String,
    /// In addition to those of the [`Http`], which win.
    pub headers: Vec<(&'static str, SecretString)>,
    pub body: Vec<u8>,
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

    /// Sets the size, in bytes, up to which one event of an answer is taken; 4 MiB at first. A longer one fails the
    /// turn, so that a provider cannot fill the memory.
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

    /// Tries until the first delta is there. From then on a failure is the caller's: what was handed out cannot be
    /// taken back.
    async fn start<D: Decode + 'static>(
        &self,
        post: Post,
        decoder: impl Fn() -> D,
    ) -> Result<Reading<'static, D>, ModelError> {
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value));
        let headers = header_map(post.headers.iter().map(|(name, value)| (*name, value)).chain(own))?;
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let client = client(self.timeouts.connect)?;
                self.client.get_or_init(|| client)
            }
        };
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
            .adjust(move |error, wait| next_wait(error.wait(), wait, cap))
            .await
    }
}

/// Makes a connection pool.
fn client(connect: Duration) -> Result<reqwest::Client, ModelError> {
    let made = tls().map_err(Into::into).and_then(|tls| {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(connect)
            // A redirect would carry the key and the conversation to another host.
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")));
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(client.build()?)
    });
    made.map_err(|error| {
        let message = "no HTTPS client can be made on this system";
        ModelError::new(ModelErrorKind::Configuration, message).with_source(error)
    })
}

/// The headers as they are sent, each marked so that it is not shown.
fn header_map<'a>(headers: impl Iterator<Item = (&'a str, &'a SecretString)>) -> Result<HeaderMap, ModelError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let unfit = |what: &str| {
            let message = format!("the {what} of the header `{name}` holds characters that a header cannot carry");
            ModelError::new(ModelErrorKind::Configuration, message)
        };
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| unfit("value"))?;
        value.set_sensitive(true);
        map.insert(HeaderName::try_from(name).map_err(|_| unfit("name"))?, value);
    }
    Ok(map)
}

/// Returns a client's TLS that checks certificates as the system does. It brings its own cryptography, so it needs no
/// process-wide choice of one.
///
/// Fails where the system's verifier is missing.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}

/// How often and when a failed request is tried again: only while nothing of its answer was handed out, and only after
/// failures that may pass ([`ModelError::is_transient`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How many tries follow the first one. 2.
    pub max: usize,
    /// The wait before the second try; it doubles from there, and up to as much again is added at random. 500 ms.
    pub first: Duration,
    /// The longest wait. A provider that asks for a longer one is not asked again: the error says how long it wants
    /// ([`ModelError::wait`]). 60 seconds.
    pub cap: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max: 2, first: Duration::from_millis(500), cap: Duration::from_mins(1) }
    }
}

impl Retry {
    /// One try only.
    pub fn never() -> Self {
        Self { max: 0, ..Self::default() }
    }

    fn backoff(&self) -> ExponentialBuilder {
        ExponentialBuilder::default()
            .with_min_delay(self.first)
            .with_max_delay(self.cap)
            .with_max_times(self.max)
            .with_jitter()
    }
}

/// The wait before the next try: what the provider asked for, and no less than `planned`; `None` ends the trying.
fn next_wait(asked: Option<Duration>, planned: Option<Duration>, cap: Duration) -> Option<Duration> {
    let planned = planned?.min(cap);
    match asked {
        Some(asked) if asked > cap => None,
        Some(asked) => Some(asked.max(planned)),
        None => Some(planned),
    }
}

const MINUTE: Duration = Duration::from_mins(1);

/// How fast requests may be sent; what is over it waits, first come first served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most requests whose answers are still being read. No limit at first.
    pub in_flight: usize,
    /// The most requests begun within any 60 seconds, retries included. No limit at first.
    pub per_minute: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { in_flight: Semaphore::MAX_PERMITS, per_minute: usize::MAX }
    }
}

/// Enforces [`Limits`] on all that share it.
#[derive(Debug)]
struct Limiter {
    slots: Arc<Semaphore>,
    per_minute: usize,
    /// When the requests of the last minute began.
    begun: Mutex<VecDeque<Instant>>,
}

impl Default for Limiter {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Limiter {
    fn new(limits: Limits) -> Self {
        // Zero would wait forever, which nobody asks for.
        let slots = Arc::new(Semaphore::new(limits.in_flight.clamp(1, Semaphore::MAX_PERMITS)));
        Self { slots, per_minute: limits.per_minute.max(1), begun: Mutex::default() }
    }

    /// Waits for a turn. The request counts as in flight until the permit is dropped.
    async fn acquire(&self) -> OwnedSemaphorePermit {
        let permit = self.slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        if self.per_minute < usize::MAX {
            // Held while waiting: the lock is fair, so it is the queue.
            let mut begun = self.begun.lock().await;
            if begun.len() >= self.per_minute
                && let Some(oldest) = begun.front().copied()
            {
                sleep_until(oldest + MINUTE).await;
                begun.pop_front();
            }
            begun.push_back(Instant::now());
        }
        permit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_as_asked_up_to_the_cap() {
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
    async fn begins_no_more_than_the_quota_in_any_minute() {
        let limiter = Limiter::new(Limits { per_minute: 3, ..Limits::default() });
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
        let limiter = Limiter::new(Limits { per_minute: 1, ..Limits::default() });
        drop(limiter.acquire().await);
        assert!(tokio::time::timeout(Duration::from_secs(1), limiter.acquire()).await.is_err());
        let start = Instant::now();
        drop(limiter.acquire().await);
        assert_eq!(start.elapsed().as_secs(), 59);
    }

    #[tokio::test]
    async fn a_slot_is_free_again_when_its_permit_is_dropped() {
        let limiter = Limiter::new(Limits { in_flight: 1, ..Limits::default() });
        let held = limiter.acquire().await;
        let brief = Duration::from_millis(10);
        assert!(tokio::time::timeout(brief, limiter.acquire()).await.is_err());
        drop(held);
        assert!(tokio::time::timeout(brief, limiter.acquire()).await.is_ok());
    }
}
