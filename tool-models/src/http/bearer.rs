//! Bearer tokens that expire. A function of the application gives them.

use std::{
    error::Error as StdError,
    fmt,
    time::{Duration, SystemTime},
};

use futures_util::future::{BoxFuture, FutureExt};
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::Mutex, time::timeout};

use tool_runtime::model::{ModelError, ModelErrorKind};

/// The time before its end at which a token is replaced. A token must reach the provider before it expires.
const MARGIN: Duration = Duration::from_secs(30);

/// The error of a function that gives tokens.
type SourceError = Box<dyn StdError + Send + Sync>;

/// A bearer token, with the time at which it expires. `Debug` does not show the token.
#[derive(Clone)]
pub struct BearerToken {
    secret: SecretString,
    expires_at: Option<SystemTime>,
}

impl BearerToken {
    /// Creates a token that serves until the provider refuses it.
    pub fn new(token: impl Into<String>) -> Self {
        Self { secret: SecretString::from(token.into()), expires_at: None }
    }

    /// Sets the time at which the token expires. Requests ask for the next token 30 seconds earlier, or after half of the remaining
    /// time if that is shorter.
    pub fn expires_at(mut self, time: SystemTime) -> Self {
        self.expires_at = Some(time);
        self
    }

    /// Returns the value of the header `authorization`.
    pub(super) fn to_header(&self) -> Result<HeaderValue, ModelError> {
        let invalid = |_| {
            let message = "the bearer token holds characters that a header cannot carry";
            ModelError::new(ModelErrorKind::Configuration, message)
        };
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.secret.expose_secret())).map_err(invalid)?;
        value.set_sensitive(true);
        Ok(value)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.secret.expose_secret() == other.secret.expose_secret()
    }

    fn has_expired(&self, now: SystemTime) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Returns the time at which a token received `now` should be replaced, if there is one.
    fn renewal(&self, now: SystemTime) -> Option<SystemTime> {
        let remaining = self.expires_at?.duration_since(now).unwrap_or_default();
        now.checked_add(remaining.saturating_sub(MARGIN.min(remaining / 2)))
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BearerToken").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// The function that gives tokens, and its latest token. Requests wait for each other, so that one of them asks for all.
pub(super) struct Tokens {
    source: Box<dyn Fn() -> BoxFuture<'static, Result<BearerToken, SourceError>> + Send + Sync>,
    kept: Mutex<Option<KeptToken>>,
}

struct KeptToken {
    token: BearerToken,
    renewal: Option<SystemTime>,
}

impl Tokens {
    pub(super) fn new<F, Fut>(source: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<BearerToken, SourceError>> + Send + 'static,
    {
        Self { source: Box::new(move || source().boxed()), kept: Mutex::default() }
    }

    /// Returns the token for a request. Asks the source if there is none, if it is about to expire, or if it is the one that the
    /// provider `refused`. While the source fails, an older token serves until it expires.
    ///
    /// Fails if the source fails, or gives no token within `limit`.
    pub(super) async fn get(&self, refused: Option<&BearerToken>, limit: Duration) -> Result<BearerToken, ModelError> {
        let token = async {
            let mut kept = self.kept.lock().await;
            let older = kept.as_ref().filter(|kept| refused.is_none_or(|refused| !kept.token.is_same(refused)));
            if let Some(older) = older
                && older.renewal.is_none_or(|renewal| SystemTime::now() < renewal)
            {
                return Ok(older.token.clone());
            }
            match (self.source)().await {
                Ok(token) => {
                    *kept = Some(KeptToken { renewal: token.renewal(SystemTime::now()), token: token.clone() });
                    Ok(token)
                }
                Err(error) => match older.filter(|older| !older.token.has_expired(SystemTime::now())) {
                    Some(older) => Ok(older.token.clone()),
                    None => Err(convert_error(error)),
                },
            }
        };
        timeout(limit, token).await.unwrap_or_else(|_| {
            let message = format!("the source of the bearer token gave none within {limit:?}");
            Err(ModelError::new(ModelErrorKind::Unavailable, message))
        })
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tokens").finish_non_exhaustive()
    }
}

/// Returns a [`ModelError`] of the source itself, because that one says whether a retry may help. The text of any other error may
/// contain a secret, so it becomes the cause only.
fn convert_error(error: SourceError) -> ModelError {
    error.downcast::<ModelError>().map_or_else(
        |error| {
            let message = "the source of the bearer token failed (see the cause of this error)";
            ModelError::new(ModelErrorKind::Unauthorized, message).with_source(error)
        },
        |error| *error,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
        let renewal = |remaining: i64| {
            let distance = Duration::from_secs(remaining.unsigned_abs());
            let end = if remaining < 0 { now - distance } else { now + distance };
            let renewal = BearerToken::new("t").expires_at(end).renewal(now).unwrap();
            renewal.duration_since(now).unwrap().as_secs()
        };
        assert_eq!([3600, 60, 40, 10, 0, -5].map(renewal), [3570, 30, 20, 5, 0, 0]);
        assert_eq!(BearerToken::new("t").renewal(now), None);
    }

    #[test]
    fn debug_hides_the_token() {
        let token = BearerToken::new("tok-12345678");
        assert!(!format!("{token:?}").contains("tok-"), "{token:?}");
        assert!(token.to_header().unwrap().is_sensitive());
        let error = BearerToken::new("tok\n12345678").to_header().unwrap_err();
        assert_eq!(error.to_string(), "the bearer token holds characters that a header cannot carry");
    }
}
