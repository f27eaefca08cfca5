//! OpenAI's two APIs: the Responses API, and chat completions, which most compatible servers have, such as llama.cpp, vLLM, Ollama,
//! OpenRouter, DeepSeek, Groq, Mistral and xAI.

mod calls_in_text;
pub(crate) mod chat;
mod effort;
mod media;
pub(crate) mod responses;
mod texts;
mod tokens;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::{
    conversation::is_before_gemini_3,
    env,
    http::{Http, Post, Substitute, response::Decode},
    media::is_taken,
    origin::{host_of, join, origin},
    structured::Structured,
};
use tool_runtime::{
    message::Part,
    model::{Delta, Model, ModelError, ModelErrorKind, ReasoningEffort, Request},
    toolset::ListFormat,
};

use calls_in_text::CallsInTextDecoder;
pub use chat::Decoder;
pub use media::MediaRules;
pub use responses::ResponsesDecoder;

const BASE_URL: &str = "https://api.openai.com/v1";

/// The members of a request that [`OpenAi::extra`] must not set.
const RESERVED_MEMBERS: [&str; 6] = ["model", "messages", "input", "tools", "stream", "stream_options"];

/// The members of chat completions that the Responses API does not have, with what to do.
const CHAT_MEMBERS: [(&str, &str); 13] = [
    ("reasoning_effort", "use `ModelSettings::reasoning_effort`, or `extra(\"reasoning\", json!({\"effort\": …}))`"),
    ("max_tokens", "use `OpenAi::max_tokens`"),
    ("max_completion_tokens", "use `OpenAi::max_tokens`"),
    ("response_format", "use `extra(\"text\", json!({\"format\": …}))`"),
    ("verbosity", "use `extra(\"text\", json!({\"verbosity\": …}))`"),
    ("web_search_options", "use `ProviderTool::responses(\"web_search\")`"),
    ("logprobs", "use `extra(\"include\", json!([\"message.output_text.logprobs\"]))`"),
    ("functions", "use `Agent::tools`"),
    ("function_call", "use `ToolChoice`"),
    ("stop", "leave it out: the API has nothing like it"),
    ("n", "leave it out: a turn is one response"),
    ("modalities", "leave it out: the API has nothing like it"),
    ("audio", "leave it out: the API has nothing like it"),
];

/// The members of the Responses API that OpenAI's chat completions do not have, with what to do.
const RESPONSES_MEMBERS: [(&str, &str); 7] = [
    ("reasoning", "use `ModelSettings::reasoning_effort`, or `extra(\"reasoning_effort\", …)`"),
    ("include", "use `OpenAi::api(Api::Responses)`"),
    ("instructions", "use `Agent::instructions`"),
    ("max_output_tokens", "use `OpenAi::max_tokens`"),
    ("max_tool_calls", "use `OpenAi::api(Api::Responses)`"),
    ("text", "use `extra(\"response_format\", …)` and `extra(\"verbosity\", …)`"),
    ("truncation", "use `OpenAi::api(Api::Responses)`"),
];

/// The words of errors about reasoning in a request: content of another organization, or a model that does not reason and whose name
/// does not tell.
const REASONING_ERRORS: [&str; 4] =
    ["encrypted content", "encrypted_content", "reasoning input item", "of type 'reasoning'"];

/// The members with which a server would keep the conversation. Here, the log of the run keeps it, and each request has all of it.
const STATEFUL_MEMBERS: [&str; 4] = ["previous_response_id", "conversation", "background", "store"];

/// A model behind one of OpenAI's two APIs.
///
/// ```
/// use tool_models::{OpenAi, openai::Api};
///
/// let model = OpenAi::new("gpt-5.6-sol").api_key("sk-…"); // the Responses API
/// let local = OpenAi::new("qwen3-coder").base_url("http://127.0.0.1:8080/v1"); // chat completions
/// let other = OpenAi::new("grok-4").base_url("https://api.x.ai/v1").api(Api::Responses);
/// # let _ = (model, local, other);
/// ```
///
/// OpenAI's own address speaks the Responses API, because its newest models call tools only there. Every other address speaks chat
/// completions, unless [`api`](Self::api) says otherwise. A setting that the other API has is an error of
/// each request ([`ModelErrorKind::Configuration`]), which names the setting to use.
///
/// Requests of the Responses API are stateless: the server stores nothing, and gets back its own items of reasoning and of its tools,
/// unless another host sent them. If it cannot read its reasoning, for example because the key belongs to another organization now, the
/// request is sent once more without reasoning, and `tracing` gets a warning.
///
/// In chat completions, the result of a call is only text. So requests contain an error as text, and images, sound and documents in a separate message.
///
/// [`reasoning_effort`](tool_runtime::model::ModelSettings::reasoning_effort) becomes the nearest level that the host and the model
/// know. In chat completions, only OpenAI, Azure OpenAI, Gemini, DeepSeek and OpenRouter receive it, and OpenAI's models from GPT-5.2 on receive only `none` in a request with
/// tools, because others refuse it. Beside an effort, these models receive no temperature, which they refuse. What [`extra`](Self::extra) sets wins.
#[derive(Clone, Debug)]
pub struct OpenAi {
    model: String,
    base_url: String,
    api: Option<Api>,
    key: Option<SecretString>,
    max_tokens: Option<u32>,
    token_limit_field: Option<TokenLimitField>,
    message_rules: Option<MessageRules>,
    media_rules: Option<MediaRules>,
    request_usage: bool,
    send_reasoning: bool,
    calls_in_text: bool,
    structured_output: bool,
    extra: Map<String, Value>,
    http: Http,
}

/// An API of OpenAI and of servers like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Api {
    /// The Responses API (`/responses`).
    Responses,
    /// Chat completions (`/chat/completions`).
    Chat,
}

/// The name of the request's member with the maximum number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenLimitField {
    /// `max_tokens`, which most servers know.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models require.
    MaxCompletionTokens,
}

/// A server's rules for the order of messages and for the ids of calls.
///
/// A conversation may break these rules: two prompts follow each other after a cancelled turn, and a prompt follows a result after a
/// cancelled call. Each request then follows the rules, and the stored conversation stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageRules {
    /// The rules of OpenAI: a message of the user may follow a result, and system messages may be anywhere.
    OpenAi,
    /// The rules of strict servers and chat templates. The only message of the system is the first. A short message of the assistant
    /// is between a result and the user's next message.
    Strict,
    /// The rules of Mistral: those of [`Strict`](Self::Strict), and an id has nine letters or digits.
    Mistral,
}

impl OpenAi {
    /// Creates the model named `model` at OpenAI, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: BASE_URL.to_owned(),
            api: None,
            key: None,
            max_tokens: None,
            token_limit_field: None,
            message_rules: None,
            media_rules: None,
            request_usage: true,
            send_reasoning: false,
            calls_in_text: false,
            structured_output: false,
            extra: Map::new(),
            http: Http::new(),
        }
    }

    /// Creates the model that the environment names:
    ///
    /// - `OPENAI_MODEL` is the name of the model.
    /// - `OPENAI_BASE_URL` is the server's address, or OpenAI's own if unset.
    /// - `OPENAI_API` is the API: `responses` or `chat`. If unset, it is `responses` at OpenAI's own address, and `chat` elsewhere.
    /// - `OPENAI_API_KEY` is the key. OpenAI needs it; most local servers do not.
    /// - `OPENAI_MAX_TOKENS` is the maximum number of tokens in a turn. There is no limit if unset.
    /// - `OPENAI_CALLS_IN_TEXT` turns on [`calls_in_text`](Self::calls_in_text) if it is `1`.
    ///
    /// Fails if the model's name is missing, if both address and key are missing, if there is no such API, or if the limit is not a
    /// whole number from 1.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_vars(&env::var)
    }

    pub(super) fn from_vars(var: env::Vars<'_>) -> Result<Self, ModelError> {
        let shared = env::read_shared_vars(var, "OPENAI", "a key, or OPENAI_BASE_URL to a local server")?;
        let mut model = Self::new(shared.model);
        model.base_url = shared.base_url.unwrap_or(model.base_url);
        model.key = shared.key;
        model.max_tokens = shared.max_tokens;
        model.api = var("OPENAI_API").map(|name| parse_api(&name)).transpose()?;
        Ok(model.calls_in_text(var("OPENAI_CALLS_IN_TEXT").is_some_and(|value| value == "1")))
    }

    /// Sets the API. The default is [`Api::Responses`] at OpenAI's own address, and [`Api::Chat`] at every other one. Servers at
    /// other addresses that speak the Responses API too include Azure (`…/openai/v1`), Bedrock Mantle, xAI, DeepSeek, OpenRouter,
    /// LM Studio, llama.cpp and Ollama.
    pub fn api(mut self, api: Api) -> Self {
        self.api = Some(api);
        self
    }

    /// Sets the server's address, without the final `/responses` or `/chat/completions`. It usually ends in `/v1`, and may have a
    /// query, such as `?api-version=…`.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self
    }

    /// Sets the API key. `Debug` does not show it.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(SecretString::from(key.into()));
        self
    }

    /// Sets the maximum number of tokens in a turn, for requests whose [`ModelSettings`](tool_runtime::model::ModelSettings)
    /// set none. The default is the server's own limit. Small models may never stop by themselves.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the name of the member with the maximum number of tokens, for chat completions. The default is `max_completion_tokens` for OpenAI itself,
    /// and `max_tokens` for other servers.
    pub fn token_limit_field(mut self, name: TokenLimitField) -> Self {
        self.token_limit_field = Some(name);
        self
    }

    /// Sets the rules of the server for messages, for chat completions. The default depends on the host of the address, and is
    /// [`MessageRules::Strict`] for an unknown one. There, a model with a name of Mistral's has [`MessageRules::Mistral`].
    ///
    /// ```
    /// use tool_models::{OpenAi, openai::MessageRules};
    ///
    /// let local = OpenAi::new("my-model").base_url("http://127.0.0.1:8000/v1").message_rules(MessageRules::Mistral);
    /// # let _ = local;
    /// ```
    pub fn message_rules(mut self, rules: MessageRules) -> Self {
        self.message_rules = Some(rules);
        self
    }

    /// Sets the media that the server takes. The default depends on the host of the address, and is images as bytes for an unknown one.
    /// A part that the model does not take is [described](tool_runtime::agent::UnreadableParts), or the model is not asked.
    pub fn media_rules(mut self, rules: MediaRules) -> Self {
        self.media_rules = Some(rules);
        self
    }

    /// Sets whether a request asks for token counts (`stream_options`), for chat completions. A few servers refuse this. The default
    /// is `true`.
    pub fn request_usage(mut self, ask: bool) -> Self {
        self.request_usage = ask;
        self
    }

    /// Sets whether requests contain earlier reasoning, as `reasoning_content`, for chat completions. DeepSeek and Moonshot require it between the
    /// calls of a turn. Other servers refuse it. The default is `false`.
    pub fn send_reasoning(mut self, send: bool) -> Self {
        self.send_reasoning = send;
        self
    }

    /// Sets whether a text that is exactly one JSON call of an offered tool becomes that call: `{"name": …, "arguments": {…}}`,
    /// alone, in a code fence or in `<tool_call>`. Small models write such texts if their server does not recognize their
    /// calls. A text that may still become a call arrives only at its end. The default is `false`, because a model may also
    /// quote a call, which would then run.
    pub fn calls_in_text(mut self, read: bool) -> Self {
        self.calls_in_text = read;
        self
    }

    /// Sets whether a request asks for a typed answer by the server's structured output, in place of the tool `final_answer`:
    /// `text.format` in the Responses API, `response_format` in chat completions. The model then answers with JSON text, which is
    /// checked like every typed answer. The default is `false`.
    ///
    /// The tool stays where the server is known to refuse the format: at DeepSeek, and beside other tools at Groq and for
    /// Gemini models before Gemini 3. It also stays if [`extra`](Self::extra) sets a format.
    ///
    /// ```
    /// let model = tool_models::OpenAi::new("gpt-5.6-sol").structured_output(true);
    /// # let _ = model;
    /// ```
    pub fn structured_output(mut self, ask: bool) -> Self {
        self.structured_output = ask;
        self
    }

    /// Adds a member to the body of every request, such as `service_tier`. Ignores the members `model`, `messages`, `input`, `tools`,
    /// `stream` and `stream_options`, which this type writes itself.
    ///
    /// In the Responses API, a list `include` gets `reasoning.encrypted_content` too, where the server knows it, unless the list is
    /// empty. An object `reasoning` gets the effort of [`ModelSettings`](tool_runtime::model::ModelSettings).
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

    /// Returns the origin of the data in responses that only their sender can read.
    fn origin(&self) -> String {
        let format = match self.effective_api() {
            Api::Responses => "responses",
            Api::Chat => "chat",
        };
        origin(format, &self.base_url)
    }

    fn effective_api(&self) -> Api {
        self.api.unwrap_or(if self.is_official() { Api::Responses } else { Api::Chat })
    }

    fn is_official(&self) -> bool {
        self.provider() == Some("openai")
    }

    /// Returns whether responses have encrypted reasoning if a request asks for it. Other servers need not know the question.
    fn can_encrypt_reasoning(&self) -> bool {
        let is_known_host = matches!(self.provider(), Some("openai" | "azure.ai.openai" | "x_ai" | "aws.bedrock"));
        is_known_host && effort::may_reason(&self.model)
    }

    /// Fails if a setting belongs to the other API.
    fn check_settings(&self) -> Result<(), ModelError> {
        let refuse = |setting: &str, api: &str, advice: &str| {
            let message = format!("`{setting}` is no setting of {api}: {advice}");
            Err(ModelError::new(ModelErrorKind::Configuration, message))
        };
        let members = match self.effective_api() {
            Api::Responses => {
                let set = [
                    (self.send_reasoning, "send_reasoning", "leave it out: reasoning goes back by itself"),
                    (self.token_limit_field.is_some(), "token_limit_field", "use `OpenAi::max_tokens` alone"),
                    (!self.request_usage, "request_usage", "leave it out: every response has its token counts"),
                    (self.message_rules.is_some(), "message_rules", "leave it out: all servers take the same order"),
                ];
                if let Some((_, name, advice)) = set.iter().find(|(is_set, ..)| *is_set) {
                    return refuse(name, "the Responses API", advice);
                }
                if let Some(name) = STATEFUL_MEMBERS.iter().find(|name| self.extra.contains_key(**name)) {
                    return refuse(&format!("extra(\"{name}\", …)"), "a stateless request", "use a store of runs");
                }
                ("the Responses API", &CHAT_MEMBERS[..])
            }
            // Other servers have members of their own in chat completions, some with these names.
            Api::Chat if matches!(self.provider(), Some("openai" | "azure.ai.openai")) => {
                ("chat completions", &RESPONSES_MEMBERS[..])
            }
            Api::Chat => return Ok(()),
        };
        match members.1.iter().find(|(name, _)| self.extra.contains_key(*name)) {
            Some((name, advice)) => refuse(&format!("extra(\"{name}\", …)"), members.0, advice),
            None => Ok(()),
        }
    }

    /// Sends a request to `path`.
    fn send<'a, D: Decode + 'static>(
        &'a self,
        path: &str,
        body: Vec<u8>,
        substitute: Option<Substitute<'a>>,
        request: Request<'a>,
        decoder: impl Fn() -> D + Send + Sync + 'a,
    ) -> BoxStream<'a, Result<Delta, ModelError>> {
        let mut headers = vec![("content-type", SecretString::from("application/json"))];
        if let Some(key) = &self.key {
            headers.push(("authorization", SecretString::from(format!("Bearer {}", key.expose_secret()))));
        }
        let url = join(&self.base_url, path);
        let post = Post { url, headers, body, substitute };
        if self.calls_in_text {
            self.http.stream(post, move || CallsInTextDecoder::new(decoder(), request.messages, request.tools))
        } else {
            self.http.stream(post, decoder)
        }
    }

    fn stream_responses<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let substitute = move |error: &ModelError| {
            let message = error.to_string().to_ascii_lowercase();
            let is_about_reasoning = REASONING_ERRORS.iter().any(|words| message.contains(words));
            if error.kind() != ModelErrorKind::Refused || !is_about_reasoning {
                return None;
            }
            let plain = responses::request::write_plain_body(self, &request);
            if plain == responses::request::write_body(self, &request) {
                return None;
            }
            tracing::warn!(
                model = self.model,
                host = host_of(&self.base_url),
                %error,
                "the provider cannot read the reasoning of this chat: the request is sent again without it"
            );
            Some(plain)
        };
        let body = responses::request::write_body(self, &request);
        let decoder = move || ResponsesDecoder::new(request.messages, request.tools).with_origin(self.origin());
        self.send("responses", body, Some(Box::new(substitute)), request, decoder)
    }

    fn stream_chat<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let body = chat::request::write_body(self, &request);
        let decoder = move || Decoder::new(request.messages, request.tools).with_origin(self.origin());
        let deltas = self.send("chat/completions", body, None, request, decoder);
        if self.is_official() { deltas.map_err(add_advice).boxed() } else { deltas }
    }

    /// Returns whether the server takes signatures whose origin is not known. Earlier versions kept those of Gemini without it.
    fn takes_unknown_signatures(&self) -> bool {
        self.provider() == Some("gcp.gemini")
    }

    /// Returns whether the server is known to refuse a turn whose first call has no signature.
    fn needs_signatures(&self) -> bool {
        matches!(self.provider(), Some("gcp.gemini" | "gcp.vertex_ai")) && !is_before_gemini_3(&self.model)
    }

    fn effective_message_rules(&self) -> MessageRules {
        if let Some(rules) = self.message_rules {
            return rules;
        }
        match self.provider() {
            Some("openai" | "azure.ai.openai" | "deepseek" | "groq" | "x_ai") => MessageRules::OpenAi,
            Some("mistral_ai") => MessageRules::Mistral,
            _ if is_name_of_mistral(&self.model) => MessageRules::Mistral,
            _ => MessageRules::Strict,
        }
    }

    /// Returns the structured output of a request, unless its answer stays a tool.
    fn structured(&self, request: &Request<'_>, format: ListFormat) -> Option<Structured> {
        let structured = self.structured_output.then(|| Structured::of(request, format)).flatten()?;
        let is_refused = match self.provider() {
            Some("deepseek") => true,
            Some("groq") => structured.has_tools(),
            Some("gcp.gemini" | "gcp.vertex_ai") => structured.has_tools() && is_before_gemini_3(&self.model),
            _ => false,
        };
        let is_set = match format {
            ListFormat::Responses => self.extra.get("text").is_some_and(|text| text.get("format").is_some()),
            _ => self.extra.contains_key("response_format"),
        };
        (!is_refused && !is_set).then_some(structured)
    }

    /// Returns the member `reasoning_effort` of a chat completion request.
    fn effort_in_chat(&self, effort: ReasoningEffort, has_tools: bool) -> Option<&'static str> {
        let is_set = ["reasoning_effort", "reasoning"].iter().any(|member| self.extra.contains_key(*member));
        if is_set { None } else { effort::in_chat(&self.base_url, &self.model, has_tools, effort) }
    }

    fn effective_token_limit_field(&self) -> TokenLimitField {
        self.token_limit_field.unwrap_or(if self.is_official() {
            TokenLimitField::MaxCompletionTokens
        } else {
            TokenLimitField::MaxTokens
        })
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.model
    }

    fn provider(&self) -> Option<&str> {
        find_provider(&self.base_url)
    }

    fn takes(&self, part: &Part) -> bool {
        is_taken(part, |media| self.takes_media(media))
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        match self.check_settings().map(|()| self.effective_api()) {
            Ok(Api::Responses) => self.stream_responses(request),
            Ok(Api::Chat) => self.stream_chat(request),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

/// Adds to an error of OpenAI's chat completions which API the model needs, if the error says so.
fn add_advice(error: ModelError) -> ModelError {
    if error.kind() != ModelErrorKind::Refused || !error.to_string().contains("/responses") {
        return error;
    }
    let message = format!("{error} (call `OpenAi::api(openai::Api::Responses)`, or set OPENAI_API=responses)");
    ModelError::new(error.kind(), message).with_retry_after(error.retry_after())
}

fn parse_api(name: &str) -> Result<Api, ModelError> {
    match name {
        "responses" => Ok(Api::Responses),
        "chat" => Ok(Api::Chat),
        _ => {
            let message = format!("OPENAI_API is `{name}`: it must hold `responses` or `chat`");
            Err(ModelError::new(ModelErrorKind::Configuration, message))
        }
    }
}

/// The hosts of providers, with OpenTelemetry's names of the providers. A subdomain belongs to the same provider.
const PROVIDERS: [(&str, &str); 12] = [
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("cognitiveservices.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.cohere.ai", "cohere"),
    ("api.aws", "aws.bedrock"),
];

fn find_provider(url: &str) -> Option<&'static str> {
    let host = host_of(url);
    // The host begins with a region, such as `europe-west4-`.
    if host.strip_suffix("aiplatform.googleapis.com").is_some_and(|region| region.is_empty() || region.ends_with('-')) {
        return Some("gcp.vertex_ai");
    }
    let is_host = |known: &str| host.strip_suffix(known).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
    PROVIDERS.iter().find(|(known, _)| is_host(known)).map(|(_, name)| *name)
}

/// Returns whether the name is like `mistral`, `devstral`, `magistral` or `mixtral`.
fn is_name_of_mistral(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    model.contains("stral") || model.contains("xtral")
}
