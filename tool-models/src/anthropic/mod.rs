//! Anthropic's messages protocol.

mod cache;
mod decoder;
mod effort;
pub(crate) mod request;
#[cfg(test)]
mod tests;

use futures_util::stream::{self, BoxStream, StreamExt};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::{
    env,
    http::{Http, Post},
    media::is_taken,
    origin::{host_of, join},
    structured::Structured,
};
use tool_runtime::{
    message::Part,
    model::{Delta, Model, ModelError, ModelErrorKind, Request},
    toolset::ListFormat,
};

pub use cache::Cache;
pub use decoder::Decoder;

const BASE_URL: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
const VERTEX_VERSION: &str = "vertex-2023-10-16";
/// The default of the maximum number of tokens in a turn. The protocol requires a maximum, and all recent models support this
/// one.
const MAX_TOKENS: u32 = 8192;

/// The members of a request that [`Anthropic::extra`] must not set.
const RESERVED_MEMBERS: [&str; 7] =
    ["model", "anthropic_version", "messages", "system", "tools", "stream", "max_tokens"];

/// A model that speaks Anthropic's messages protocol.
///
/// ```
/// use serde_json::json;
/// use tool_models::Anthropic;
///
/// let model = Anthropic::new("claude-opus-5-5")
///     .api_key("sk-ant-…")
///     .extra("thinking", json!({"type": "adaptive", "display": "summarized"}));
/// # let _ = model;
/// ```
///
/// Thinking becomes [`Delta::Reasoning`] with the provider's signature. Blocks of tools that the provider runs itself, such as
/// web search, become [`Delta::Provider`]; [`ProviderTool`](tool_runtime::toolset::ProviderTool) offers such tools. Later
/// requests send both back unchanged. A turn that the provider pauses ends with
/// [`FinishReason::Paused`](tool_runtime::model::FinishReason::Paused), and the next request continues it. A request has all
/// system messages of a conversation before the other messages, because the protocol does not allow them in between.
///
/// [`reasoning_effort`](tool_runtime::model::ModelSettings::reasoning_effort) becomes `output_config.effort`, with adaptive `thinking` unless it is
/// [`None`](tool_runtime::model::ReasoningEffort::None). Then a request has no temperature. Models before Claude 4.6 refuse an
/// effort, so requests to them have none, and neither have those to models whose names lack `claude`. The members `thinking` and
/// `output_config` of [`extra`](Self::extra) come first.
#[derive(Clone, Debug)]
pub struct Anthropic {
    model: String,
    /// The address, unless it is that of Anthropic or Vertex.
    base_url: Option<String>,
    version: Option<String>,
    vertex: Option<Vertex>,
    cache: Option<Cache>,
    key: Option<SecretString>,
    max_tokens: u32,
    structured_output: bool,
    extra: Map<String, Value>,
    http: Http,
}

/// A place in Google's cloud.
#[derive(Clone, Debug)]
struct Vertex {
    project: String,
    location: String,
}

impl Vertex {
    /// Returns the error of a project or a location that an address cannot have.
    fn find_mistake(&self) -> Option<ModelError> {
        let is_valid = |text: &str, more: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || more.contains(c))
        };
        let message = if !is_valid(&self.location, "") {
            let location = &self.location;
            format!(
                "invalid location `{location}` of Vertex AI: use `global`, `eu`, `us`, or a region such as `europe-west1`"
            )
        } else if !is_valid(&self.project, "_.:") {
            format!("invalid project `{}` of Vertex AI: use the id of the project, such as `my-project`", self.project)
        } else {
            return None;
        };
        Some(ModelError::new(ModelErrorKind::Configuration, message))
    }

    fn base_url(&self) -> String {
        match self.location.as_str() {
            "global" => "https://aiplatform.googleapis.com".to_owned(),
            location @ ("eu" | "us") => format!("https://aiplatform.{location}.rep.googleapis.com"),
            location => format!("https://{location}-aiplatform.googleapis.com"),
        }
    }
}

impl Anthropic {
    /// Creates the model named `model` at Anthropic, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: None,
            version: None,
            vertex: None,
            cache: None,
            key: None,
            max_tokens: MAX_TOKENS,
            structured_output: false,
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
        model.base_url = shared.base_url;
        model.key = shared.key;
        model.version = var("ANTHROPIC_VERSION");
        model.max_tokens = shared.max_tokens.unwrap_or(model.max_tokens);
        Ok(model)
    }

    /// Sets the server's address, without the final `/v1/messages`. A final `/v1` makes no difference.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Selects the models on Google's Vertex AI, in the project with the id `project`. `location` is `global`, `eu`, `us`, or a
    /// region such as `europe-west1`. Newer models are only at the first three.
    ///
    /// Vertex takes a token of Google in place of a key ([`Http::bearer_auth`]). [`base_url`](Self::base_url) sets another address,
    /// such as that of a gateway, without the part from `/v1/projects`.
    ///
    /// ```
    /// use tool_models::{Anthropic, http::{BearerToken, Http}};
    ///
    /// # async fn google_token() -> std::io::Result<String> { Ok("…".into()) }
    /// let http = Http::new().bearer_auth(|| async { Ok(BearerToken::new(google_token().await?)) });
    /// let model = Anthropic::new("claude-opus-5-5").vertex("my-project", "global").http(http);
    /// # let _ = model;
    /// ```
    pub fn vertex(mut self, project: impl Into<String>, location: impl Into<String>) -> Self {
        self.vertex = Some(Vertex { project: project.into(), location: location.into() });
        self
    }

    /// Sets the version of the protocol. The default is `2023-06-01`, or `vertex-2023-10-16` on Vertex.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets how long the provider keeps the beginning of a request, which makes later requests of the conversation cheaper. The
    /// default is [`Cache::FiveMinutes`] at Anthropic and on Vertex, and [`Cache::Off`] elsewhere. A member `cache_control` of
    /// [`extra`](Self::extra) replaces this setting.
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
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

    /// Sets whether a request asks for a typed answer by the provider's structured output (`output_config.format`), in place of the
    /// tool `final_answer`. The model then answers with JSON text, which is checked like every typed answer. The default is `false`.
    ///
    /// Claude has this since the models 4.5. The tool stays if the provider cannot express the answer's type, such as a map or
    /// a type that contains itself, and if [`extra`](Self::extra) sets a format.
    pub fn structured_output(mut self, ask: bool) -> Self {
        self.structured_output = ask;
        self
    }

    /// Adds a member to the body of every request, such as `thinking`. Ignores the members `model`, `anthropic_version`, `messages`,
    /// `system`, `tools`, `stream` and `max_tokens`, which this type writes itself.
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

    /// Returns the structured output of a request, unless its answer stays a tool.
    fn structured(&self, request: &Request<'_>) -> Option<Structured> {
        let structured = self.structured_output.then(|| Structured::of(request, ListFormat::Anthropic)).flatten()?;
        let own = self.extra.get("output_config").is_some_and(|config| config.get("format").is_some());
        let is_set = own || self.extra.contains_key("output_format");
        // The provider knows no other form than the strict one.
        (!is_set && structured.schema().1).then_some(structured)
    }

    fn url(&self) -> String {
        let base = match (&self.base_url, &self.vertex) {
            (Some(url), _) => url.clone(),
            (None, Some(vertex)) => vertex.base_url(),
            (None, None) => BASE_URL.to_owned(),
        };
        match &self.vertex {
            Some(Vertex { project, location }) => {
                let models = format!("projects/{project}/locations/{location}/publishers/anthropic/models");
                join_version(&base, &format!("{models}/{}:streamRawPredict", self.model))
            }
            None => join_version(&base, "messages"),
        }
    }

    fn effective_version(&self) -> &str {
        let default = if self.vertex.is_some() { VERTEX_VERSION } else { VERSION };
        self.version.as_deref().unwrap_or(default)
    }

    fn effective_cache(&self) -> Cache {
        // Other servers may refuse the marks.
        let is_known =
            self.vertex.is_some() || self.base_url.as_deref().is_none_or(|url| host_of(url) == host_of(BASE_URL));
        match self.cache {
            _ if self.extra.contains_key("cache_control") => Cache::Off,
            Some(cache) => cache,
            None if is_known => Cache::FiveMinutes,
            None => Cache::Off,
        }
    }
}

/// Returns the address of `path` in version 1 below the base address, which may have a final `/v1` and a query.
fn join_version(base: &str, path: &str) -> String {
    let end = base.split('?').next().unwrap_or_default().trim_end_matches('/');
    join(base, &if end.ends_with("/v1") { path.to_owned() } else { format!("v1/{path}") })
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.model
    }

    fn provider(&self) -> Option<&str> {
        Some(if self.vertex.is_some() { "gcp.vertex_ai" } else { "anthropic" })
    }

    fn takes(&self, part: &Part) -> bool {
        is_taken(part, request::takes_media)
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        if let Some(error) = self.vertex.as_ref().and_then(Vertex::find_mistake) {
            return stream::iter([Err(error)]).boxed();
        }
        let mut headers = vec![("content-type", SecretString::from("application/json"))];
        if self.vertex.is_none() {
            headers.push(("anthropic-version", SecretString::from(self.effective_version())));
        }
        headers.extend(self.key.clone().map(|key| ("x-api-key", key)));
        let post = Post { url: self.url(), headers, body: request::write_body(self, &request), substitute: None };
        self.http.stream(post, move || Decoder::new(request.messages, request.tools))
    }
}
