//! Anthropic's messages protocol.

mod decoder;
pub(crate) mod request;
#[cfg(test)]
mod tests;

use futures_util::stream::BoxStream;
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::{
    env,
    http::{Http, Post},
};
use tool_runtime::model::{Delta, Model, ModelError, Request};

pub use decoder::Decoder;

const BASE_URL: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
/// The default of the maximum number of tokens in a turn. The protocol requires a maximum, and all recent models support this
/// one.
const MAX_TOKENS: u32 = 8192;

/// The members of a request that [`Anthropic::extra`] must not set.
const RESERVED_MEMBERS: [&str; 6] = ["model", "messages", "system", "tools", "stream", "max_tokens"];

/// A model that speaks Anthropic's messages protocol.
///
/// ```
/// use serde_json::json;
/// use tool_models::Anthropic;
///
/// let model = Anthropic::new("claude-sonnet-4-5")
///     .api_key("sk-ant-…")
///     .extra("thinking", json!({"type": "enabled", "budget_tokens": 4000}));
/// # let _ = model;
/// ```
///
/// Thinking becomes [`Delta::Reasoning`] with the provider's signature. Blocks of tools that the provider runs itself, such as
/// web search, become [`Delta::Provider`]; [`ProviderTool`](tool_runtime::toolset::ProviderTool) offers such tools. Later
/// requests send both back unchanged. A turn that the provider pauses ends with
/// [`FinishReason::Paused`](tool_runtime::model::FinishReason::Paused), and the next request continues it. A request has all
/// system messages of a conversation before the other messages, because the protocol does not allow them in between.
#[derive(Clone, Debug)]
pub struct Anthropic {
    model: String,
    base_url: String,
    version: String,
    key: Option<SecretString>,
    max_tokens: u32,
    extra: Map<String, Value>,
    http: Http,
}

impl Anthropic {
    /// Creates the model named `model` at Anthropic, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: BASE_URL.to_owned(),
            version: VERSION.to_owned(),
            key: None,
            max_tokens: MAX_TOKENS,
            extra: Map::new(),
            http: Http::new(),
        }
    }

    /// Creates the model that the environment names:
    ///
    /// - `ANTHROPIC_MODEL` is the name of the model.
    /// - `ANTHROPIC_API_KEY` is the key.
    /// - `ANTHROPIC_BASE_URL` is the server's address, or Anthropic's own if unset.
    /// - `ANTHROPIC_VERSION` is the version of the protocol, or 2023-06-01 if unset.
    /// - `ANTHROPIC_MAX_TOKENS` is the maximum number of tokens in a turn, or 8192 if unset.
    ///
    /// Fails if the model's name is missing, if both address and key are missing, or if the limit is not a whole number from 1.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_vars(&env::var)
    }

    pub(super) fn from_vars(var: env::Vars<'_>) -> Result<Self, ModelError> {
        let shared = env::read_shared_vars(var, "ANTHROPIC", "a key")?;
        let mut model = Self::new(shared.model);
        model.base_url = shared.base_url.unwrap_or(model.base_url);
        model.key = shared.key;
        model.version = var("ANTHROPIC_VERSION").unwrap_or(model.version);
        model.max_tokens = shared.max_tokens.unwrap_or(model.max_tokens);
        Ok(model)
    }

    /// Sets the server's address, without the final `/v1/messages`. A final `/v1` makes no difference.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self
    }

    /// Sets the version of the protocol. The default is `2023-06-01`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the API key. `Debug` does not show it.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(SecretString::from(key.into()));
        self
    }

    /// Sets the maximum number of tokens in a turn, for requests whose [`ModelSettings`](tool_runtime::model::ModelSettings)
    /// set none. The default is 8192.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Adds a member to the body of every request, such as `thinking` or `cache_control`. Ignores the members `model`,
    /// `messages`, `system`, `tools`, `stream` and `max_tokens`, which this type writes itself.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        if !RESERVED_MEMBERS.contains(&name.as_str()) {
            self.extra.insert(name, value.into());
        }
        self
    }

    /// Sets the HTTP client, with its timeouts, retries and rate limits.
    pub fn http(mut self, http: Http) -> Self {
        self.http = http;
        self
    }
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.model
    }

    fn provider(&self) -> Option<&str> {
        Some("anthropic")
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let mut headers = vec![
            ("content-type", SecretString::from("application/json")),
            ("anthropic-version", SecretString::from(self.version.as_str())),
        ];
        headers.extend(self.key.clone().map(|key| ("x-api-key", key)));
        let base = self.base_url.trim_end_matches('/');
        let url = format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base));
        let post = Post { url, headers, body: request::write_body(self, &request), substitute: None };
        self.http.stream(post, move || Decoder::new(request.messages, request.tools))
    }
}
