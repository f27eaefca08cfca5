//! Google's Gemini models, over the Interactions API or over `generateContent`.

pub mod generate_content;
pub mod interactions;

use futures_util::stream::BoxStream;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    conversation::is_before_gemini_3,
    env,
    error::unreadable_error,
    http::{Http, Post},
    media::{is_common_image, is_in_bucket, is_pdf, is_taken},
    origin::{join, origin},
    structured::Structured,
    tokens::read_count,
};
use tool_runtime::{
    message::{MediaKind, MediaRef, Part, Signature, SourceRef},
    model::{Delta, Model, ModelError, ModelErrorKind, ReasoningEffort, Request, Usage},
    toolset::ListFormat,
};

const BASE_URL: &str = "https://generativelanguage.googleapis.com";
/// The version in the path of an address that has none.
const VERSION: &str = "v1beta";
/// The revision of the Interactions API whose requests and streams consist of steps.
const REVISION: &str = "2026-05-20";

/// The members of a request that [`Gemini::extra`] must not set.
const RESERVED_MEMBERS: [&str; 8] =
    ["model", "input", "system_instruction", "contents", "systemInstruction", "tools", "store", "stream"];

/// A Gemini model, at Google's Gemini API or at Vertex AI.
///
/// ```
/// use tool_models::{Gemini, gemini::Api};
///
/// let model = Gemini::new("gemini-3.5-flash").api_key("…");
/// let gateway = Gemini::new("gemini-3.5-flash").base_url("https://gateway.example.com").api(Api::GenerateContent);
/// # let _ = (model, gateway);
/// ```
///
/// Requests are stateless: each has the whole conversation, and Google stores none of it (`store: false`). Signatures of thoughts,
/// calls and texts go back to the API and the host that sent them, and to no other. So do the steps of tools that Google runs, such
/// as its search ([`Delta::Provider`]). Models show their thoughts only if asked ([`extra`](Self::extra)).
///
/// The APIs have no setting for parallel calls, so
/// [`allow_parallel_calls`](tool_runtime::model::ModelSettings::allow_parallel_calls) has no effect.
#[derive(Clone, Debug)]
pub struct Gemini {
    model: String,
    base_url: String,
    api: Api,
    key: Option<SecretString>,
    max_tokens: Option<u32>,
    structured_output: bool,
    extra: Map<String, Value>,
    http: Http,
}

/// An API of Gemini models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Api {
    /// The Interactions API, Google's default since June 2026. It streams the arguments of calls in pieces.
    #[default]
    Interactions,
    /// `streamGenerateContent`, the earlier API, which gateways offer too. The arguments of a call arrive at once.
    GenerateContent,
}

impl Gemini {
    /// Creates the model named `model` at Google's Gemini API, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: BASE_URL.to_owned(),
            api: Api::default(),
            key: None,
            max_tokens: None,
            structured_output: false,
            extra: Map::new(),
            http: Http::new(),
        }
    }

    /// Creates the model that the environment names:
    ///
    /// - `GEMINI_MODEL` is the name of the model.
    /// - `GEMINI_API_KEY` is the key.
    /// - `GEMINI_BASE_URL` is the server's address, or that of Google's Gemini API if unset.
    /// - `GEMINI_API` is the API: `interactions`, which is the default, or `generate_content`.
    /// - `GEMINI_MAX_TOKENS` is the maximum number of tokens in a turn. The model's own limit holds if unset.
    ///
    /// Fails if the model's name is missing, if both address and key are missing, if the API is another, or if the limit is not a
    /// whole number from 1.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_vars(&env::var)
    }

    pub(super) fn from_vars(var: env::Vars<'_>) -> Result<Self, ModelError> {
        let shared = env::read_shared_vars(var, "GEMINI", "a key")?;
        let mut model = Self::new(shared.model);
        model.base_url = shared.base_url.unwrap_or(model.base_url);
        model.key = shared.key;
        model.max_tokens = shared.max_tokens;
        model.api = match var("GEMINI_API").as_deref() {
            None | Some("interactions") => Api::Interactions,
            Some("generate_content") => Api::GenerateContent,
            Some(other) => {
                let message = format!("GEMINI_API is `{other}`: it must be `interactions` or `generate_content`");
                return Err(ModelError::new(ModelErrorKind::Configuration, message));
            }
        };
        Ok(model)
    }

    /// Sets the API. The default is [`Api::Interactions`].
    pub fn api(mut self, api: Api) -> Self {
        self.api = api;
        self
    }

    /// Sets the server's address. `/v1beta` is added, unless the address has a version, such as `/v1`.
    ///
    /// For Vertex AI, the address ends with the project and the region:
    /// `https://REGION-aiplatform.googleapis.com/v1beta1/projects/PROJECT/locations/REGION`.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self
    }

    /// Sets the API key, which requests have as `x-goog-api-key`. `Debug` does not show it.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(SecretString::from(key.into()));
        self
    }

    /// Sets the maximum number of tokens in a turn, thoughts included, for requests whose
    /// [`ModelSettings`](tool_runtime::model::ModelSettings) set none. The default is the model's own limit.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets whether a request asks for a typed answer by the provider's structured output, in place of the tool `final_answer`:
    /// `response_format` in the Interactions API, `responseJsonSchema` in `generateContent`. The model then answers with JSON text,
    /// which is checked like every typed answer. The default is `false`.
    ///
    /// The tool stays if the request has other tools and the model is one before Gemini 3, which refuses both together. It also
    /// stays if [`extra`](Self::extra) sets a format.
    pub fn structured_output(mut self, ask: bool) -> Self {
        self.structured_output = ask;
        self
    }

    /// Adds a member to the body of every request, in the terms of its API. The members of `generation_config`,
    /// `generationConfig` and `toolConfig` join those that a request has itself, which win, except for the effort
    /// of reasoning. Ignores the members `model`, `input`,
    /// `system_instruction`, `contents`, `systemInstruction`, `tools`, `store` and `stream`, which this type writes itself.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_models::Gemini;
    ///
    /// // Shows summaries of the model's thoughts.
    /// let model = Gemini::new("gemini-3.5-flash").extra("generation_config", json!({"thinking_summaries": "auto"}));
    /// # let _ = model;
    /// ```
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

    /// Returns whether a request may have the media. Vertex AI reads addresses of buckets, and needs their types.
    fn takes_media(&self, media: &MediaRef<'_>) -> bool {
        let reads_buckets = self.is_at_vertex() && self.api == Api::GenerateContent && media.media_type.is_some();
        (reads_buckets || !is_in_bucket(media)) && takes_type(media)
    }

    fn is_at_vertex(&self) -> bool {
        self.base_url.contains("/locations/")
    }

    /// Returns the structured output of a request, unless its answer stays a tool.
    fn structured(&self, request: &Request<'_>, format: ListFormat) -> Option<Structured> {
        let structured = self.structured_output.then(|| Structured::of(request, format)).flatten()?;
        let is_in = |members: Option<&Value>, names: &[&str]| {
            members.is_some_and(|members| names.iter().any(|name| members.get(*name).is_some()))
        };
        let names = ["responseMimeType", "responseSchema", "responseJsonSchema"];
        let is_set = self.extra.contains_key("response_format") || is_in(self.extra.get("generationConfig"), &names);
        let is_refused = structured.has_tools() && self.is_before_gemini_3();
        (!is_set && !is_refused).then_some(structured)
    }

    fn is_before_gemini_3(&self) -> bool {
        is_before_gemini_3(&self.model)
    }

    fn url(&self) -> String {
        let base = self.base_url.split('?').next().unwrap_or_default();
        let path = base.split_once("://").map_or(base, |(_, rest)| rest);
        let is_version = |segment: &str| {
            segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        };
        let version = if path.split('/').skip(1).any(is_version) { String::new() } else { format!("{VERSION}/") };
        let resource = match self.api {
            Api::Interactions => "interactions".to_owned(),
            Api::GenerateContent => {
                let models = match self.model.contains('/') {
                    true => "",
                    false if self.is_at_vertex() => "publishers/google/models/",
                    false => "models/",
                };
                format!("{models}{}:streamGenerateContent?alt=sse", self.model)
            }
        };
        join(&self.base_url, &format!("{version}{resource}"))
    }

    /// Returns the name of the nearest level that the model knows. A Pro model has no `minimal`.
    fn thinking_level(&self, effort: ReasoningEffort) -> &'static str {
        match effort {
            ReasoningEffort::None | ReasoningEffort::Minimal if !self.is_pro() => "minimal",
            ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => "low",
            ReasoningEffort::Medium => "medium",
            _ => "high",
        }
    }

    fn is_pro(&self) -> bool {
        self.model.contains("pro")
    }

    /// Returns the origin of signatures and of steps of Google's tools in responses.
    fn origin(&self) -> String {
        let format = match self.api {
            Api::Interactions => "interactions",
            Api::GenerateContent => "generate_content",
        };
        origin(format, &self.base_url)
    }
}

impl Model for Gemini {
    fn name(&self) -> &str {
        &self.model
    }

    fn provider(&self) -> Option<&str> {
        Some(if self.is_at_vertex() { "gcp.vertex_ai" } else { "gcp.gemini" })
    }

    fn takes(&self, part: &Part) -> bool {
        is_taken(part, |media| self.takes_media(media))
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let mut headers = vec![("content-type", SecretString::from("application/json"))];
        headers.extend(self.key.clone().map(|key| ("x-goog-api-key", key)));
        let (url, messages, tools) = (self.url(), request.messages, request.tools);
        match self.api {
            Api::Interactions => {
                headers.push(("api-revision", SecretString::from(REVISION)));
                let post =
                    Post { url, headers, body: interactions::request::write_body(self, &request), substitute: None };
                self.http.stream(post, move || interactions::Decoder::new(messages, tools).with_origin(self.origin()))
            }
            Api::GenerateContent => {
                let post = Post {
                    url,
                    headers,
                    body: generate_content::request::write_body(self, &request),
                    substitute: None,
                };
                self.http
                    .stream(post, move || generate_content::Decoder::new(messages, tools).with_origin(self.origin()))
            }
        }
    }
}

/// Returns whether the APIs take media of this type: images but GIF, PDFs and sound, as bytes or by address.
fn takes_type(media: &MediaRef<'_>) -> bool {
    /// The types that the bytes show, too.
    const SHOWN: [&str; 4] = ["audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3"];
    const OTHERS: [&str; 5] = ["audio/aiff", "audio/aac", "audio/ogg", "audio/flac", "audio/x-aiff"];
    let is_image = is_common_image(media) && media.media_type != Some("image/gif");
    // Only a type tells an address of sound from others.
    let is_sound = media.kind == MediaKind::Audio
        && media.media_type.is_some_and(|label| {
            let is_shown = matches!(media.source, SourceRef::Url(_)) || media.type_of_bytes().is_some();
            OTHERS.contains(&label) || (SHOWN.contains(&label) && is_shown)
        });
    is_image || is_pdf(media) || is_sound
}

/// The part of a response to which a signature belongs. A turn keeps it with the signature: a signature that follows a thought may be
/// that of the thought, or of the call after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signed {
    /// The thought whose text is beside the signature.
    Thought,
    /// The call that follows.
    Call,
    /// The text that follows.
    Text,
    /// A part of its own, without a text.
    Empty,
}

impl Signed {
    const ALL: [Self; 4] = [Self::Thought, Self::Call, Self::Text, Self::Empty];

    fn name(self) -> &'static str {
        match self {
            Self::Thought => "thought",
            Self::Call => "call",
            Self::Text => "text",
            Self::Empty => "empty",
        }
    }

    fn mark(self, origin: &str, signature: &str) -> Delta {
        Delta::ReasoningSignature(Signature::new(origin, format!("{}:{signature}", self.name())))
    }

    /// Returns the part to which a signature of `origin` belongs, with the signature as it came; `None` for one of another origin.
    fn read<'a>(signature: &'a Signature, origin: &str) -> Option<(Self, &'a str)> {
        let (name, value) = signature.value.split_once(':').filter(|_| signature.origin == origin)?;
        Some((Self::ALL.into_iter().find(|signed| signed.name() == name)?, value))
    }
}

/// The number of tokens so far. Each member of a later event replaces the same member of an earlier one.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    input: Option<u64>,
    of_tools: Option<u64>,
    cached: Option<u64>,
    output: Option<u64>,
    thoughts: Option<u64>,
}

impl Tokens {
    /// Reads the numbers by the names of the two APIs.
    fn read(usage: &Value) -> Self {
        let count = |names: [&str; 2]| names.iter().find_map(|name| read_count(&usage[*name]));
        Self {
            input: count(["total_input_tokens", "promptTokenCount"]),
            of_tools: count(["total_tool_use_tokens", "toolUsePromptTokenCount"]),
            cached: count(["total_cached_tokens", "cachedContentTokenCount"]),
            output: count(["total_output_tokens", "candidatesTokenCount"]),
            thoughts: count(["total_thought_tokens", "thoughtsTokenCount"]),
        }
    }

    fn update(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.of_tools = later.of_tools.or(self.of_tools);
        self.cached = later.cached.or(self.cached);
        self.output = later.output.or(self.output);
        self.thoughts = later.thoughts.or(self.thoughts);
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let reasoning = tokens.thoughts.unwrap_or_default();
        Self {
            // The provider counts the results of its own tools, and thoughts, separately.
            input_tokens: tokens.input.unwrap_or_default().saturating_add(tokens.of_tools.unwrap_or_default()),
            output_tokens: tokens.output.unwrap_or_default().saturating_add(reasoning),
            cached_tokens: tokens.cached.unwrap_or_default(),
            reasoning_tokens: reasoning,
        }
    }
}

/// Reads a part of an event. `what` names it in the error about another JSON value.
fn read_part<'a, T: Deserialize<'a>>(json: &'a RawValue, what: &str) -> Result<T, ModelError> {
    let unreadable =
        |error| unreadable_error(&format!("an event has an unreadable {what}"), json.get()).with_source(error);
    serde_json::from_str(json.get()).map_err(unreadable)
}

/// Removes the object called `name` from the members that an application adds to a request; empty if there is none.
fn take_object(extra: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match extra.remove(name) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_has_a_version_once() {
        let url = |base: &str, api| Gemini::new("gemini-3.5-flash").base_url(base).api(api).url();
        let vertex = "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west4";
        for (base, expected) in [
            (BASE_URL, "https://generativelanguage.googleapis.com/v1beta/interactions"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1beta/interactions"),
            ("https://gateway.example.com/gemini/v1", "https://gateway.example.com/gemini/v1/interactions"),
            ("https://v1.example.com", "https://v1.example.com/v1beta/interactions"),
            (vertex, &format!("{vertex}/interactions")),
        ] {
            assert_eq!(url(base, Api::Interactions), expected);
        }
        for (base, expected) in [
            (
                BASE_URL,
                "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse",
            ),
            (vertex, &format!("{vertex}/publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse")),
        ] {
            assert_eq!(url(base, Api::GenerateContent), expected);
        }
        let with_query = url("https://a.example/?key=b", Api::GenerateContent);
        assert_eq!(with_query, "https://a.example/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse&key=b");
        let tuned = Gemini::new("tunedModels/mine").api(Api::GenerateContent);
        assert!(tuned.url().ends_with("/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"), "{}", tuned.url());
    }

    #[test]
    fn sound_whose_bytes_are_another_is_not_taken() {
        use tool_runtime::message::Media;
        for (media, expected) in [
            (Media::base64("audio/wav", "UklGRgAAAABXQVZF"), true),
            (Media::base64("audio/mp3", "SUQz"), true),
            (Media::base64("audio/wav", "AAAA"), false),
            (Media::base64("audio/mp3", "AAAA"), false),
            (Media::base64("audio/ogg", "T2dnUw=="), true),
            (Media::url("https://a/b").with_media_type("audio/wav"), true),
            (Media::url("https://a/b.wav"), false),
        ] {
            let part = Part::Audio(media);
            assert_eq!(Gemini::new("m").takes(&part), expected, "{part:?}");
        }
    }

    #[test]
    fn generations_by_name() {
        for old in ["gemini-1.5-pro", "gemini-2.5-flash", "models/gemini-2.0-flash-lite", "gemini-2"] {
            assert!(Gemini::new(old).is_before_gemini_3(), "{old}");
        }
        for new in ["gemini-3-pro-preview", "gemini-3.6-flash", "gemini-4", "gemini-20", "mine", ""] {
            assert!(!Gemini::new(new).is_before_gemini_3(), "{new}");
        }
    }

    #[test]
    fn the_environment_selects_the_api() {
        let with = |api: &'static str| {
            let var = move |name: &str| match name {
                "GEMINI_API" => Some(api.to_owned()).filter(|api| !api.is_empty()),
                "GEMINI_BASE_URL" => None,
                "GEMINI_MAX_TOKENS" => Some("9".to_owned()),
                other => Some(other.to_lowercase()),
            };
            Gemini::from_vars(&var)
        };
        let read = with("").unwrap();
        assert_eq!((read.api, read.model.as_str(), read.max_tokens), (Api::Interactions, "gemini_model", Some(9)));
        assert_eq!(with("generate_content").unwrap().api, Api::GenerateContent);
        let error = with("chat").unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        assert_eq!(error.to_string(), "GEMINI_API is `chat`: it must be `interactions` or `generate_content`");
    }

    #[test]
    fn the_key_is_not_shown() {
        let shown = format!("{:?}", Gemini::new("m").api_key("secret"));
        assert!(!shown.contains("secret\""), "{shown}");
    }
}
