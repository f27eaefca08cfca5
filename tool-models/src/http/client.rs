//! The connection pool, made when the first request needs it, and the headers of a request.

use std::sync::OnceLock;

use reqwest::{
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use secrecy::{ExposeSecret, SecretString};

use super::Timeouts;
use tool_runtime::model::{ModelError, ModelErrorKind};

/// A connection pool that is made at its first use, so that making a model cannot fail.
#[derive(Debug, Default)]
pub(super) struct Client(OnceLock<reqwest::Client>);

impl Client {
    pub(super) fn get(&self, timeouts: &Timeouts) -> Result<&reqwest::Client, ModelError> {
        if let Some(made) = self.0.get() {
            return Ok(made);
        }
        let made = make(timeouts).map_err(|error| {
            ModelError::new(ModelErrorKind::Configuration, "no HTTPS client can be made on this system").because(error)
        })?;
        Ok(self.0.get_or_init(|| made))
    }
}

fn make(timeouts: &Timeouts) -> Result<reqwest::Client, Box<dyn std::error::Error + Send + Sync>> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(crate::tls::config()?)
        .connect_timeout(timeouts.connect)
        // A redirect would carry the key and the conversation to another host.
        .redirect(Policy::none())
        .referer(false)
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        .build()?;
    Ok(client)
}

/// The headers as they are sent, each marked so that it is not shown.
pub(super) fn header_map<'a>(
    headers: impl Iterator<Item = (&'a str, &'a SecretString)>,
) -> Result<HeaderMap, ModelError> {
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
