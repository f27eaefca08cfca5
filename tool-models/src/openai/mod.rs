//! The chat completions protocol, for OpenAI and compatible servers, such as llama.cpp, vLLM, Ollama, OpenRouter, DeepSeek, Groq,
//! Mistral and xAI.

pub(crate) mod chat;

use futures_util::stream::BoxStream;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::{
    env,
    http::{Http, Post},
    origin::{host_of, origin},
};
use tool_runtime::model::{Delta, Model, ModelError, Request};

pub use chat::Decoder;
use chat::{calls_in_text::CallsInTextDecoder, request};

const BASE_URL: &str = "https://api.openai.com/v1";

/// The members of a request that [`OpenAi::extra`] must not set.
const RESERVED_MEMBERS: [&str; 5] = ["model", "messages", "tools", "stream", "stream_options"];

/// A model behind the chat completions protocol.
///
/// ```
/// use tool_models::OpenAi;
///
/// let local = OpenAi::new("qwen2.5-coder").base_url("http://127.0.0.1:8080/v1");
/// # let _ = local;
/// ```
///
/// In the protocol, the result of a call is only text. So requests contain an error as text, and images in a separate message.
#[derive(Clone, Debug)]
pub struct OpenAi {
    model: String,
    base_url: String,
    key: Option<SecretString>,
    max_tokens: Option<u32>,
    token_limit_field: Option<TokenLimitField>,
    message_rules: Option<MessageRules>,
    request_usage: bool,
    send_reasoning: bool,
    calls_in_text: bool,
    extra: Map<String, Value>,
    http: Http,
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
            key: None,
            max_tokens: None,
            token_limit_field: None,
            message_rules: None,
            request_usage: true,
            send_reasoning: false,
            calls_in_text: false,
            extra: Map::new(),
            http: Http::new(),
        }
    }

    /// Creates the model that the environment names:
    ///
    /// - `OPENAI_MODEL` is the name of the model.
    /// - `OPENAI_BASE_URL` is the server's address, or OpenAI's own if unset.
    /// - `OPENAI_API_KEY` is the key. OpenAI needs it; most local servers do not.
    /// - `OPENAI_MAX_TOKENS` is the maximum number of tokens in a turn. There is no limit if unset.
    /// - `OPENAI_CALLS_IN_TEXT` turns on [`calls_in_text`](Self::calls_in_text) if it is `1`.
    ///
    /// Fails if the model's name is missing, if both address and key are missing, or if the limit is not a whole number from 1.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_vars(&env::var)
    }

    pub(super) fn from_vars(var: env::Vars<'_>) -> Result<Self, ModelError> {
        let shared = env::read_shared_vars(var, "OPENAI", "a key, or OPENAI_BASE_URL to a local server")?;
        let mut model = Self::new(shared.model);
        model.base_url = shared.base_url.unwrap_or(model.base_url);
        model.key = shared.key;
        model.max_tokens = shared.max_tokens;
        Ok(model.calls_in_text(var("OPENAI_CALLS_IN_TEXT").is_some_and(|value| value == "1")))
    }

    /// Sets the server's address, without the final `/chat/completions`. It usually ends in `/v1`.
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

    /// Sets the name of the member with the maximum number of tokens. The default is `max_completion_tokens` for OpenAI itself,
    /// and `max_tokens` for other servers.
    pub fn token_limit_field(mut self, name: TokenLimitField) -> Self {
        self.token_limit_field = Some(name);
        self
    }

    /// Sets the rules of the server for messages. The default depends on the host of the address, and is
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

    /// Sets whether a request asks for token counts (`stream_options`). A few servers refuse this. The default is `true`.
    pub fn request_usage(mut self, ask: bool) -> Self {
        self.request_usage = ask;
        self
    }

    /// Sets whether requests contain earlier reasoning, as `reasoning_content`. DeepSeek and Moonshot require it between the
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

    /// Adds a member to the body of every request, such as `reasoning_effort`. Ignores the members `model`, `messages`,
    /// `tools`, `stream` and `stream_options`, which this type writes itself.
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

    /// Returns the origin of the signatures in responses.
    fn origin(&self) -> String {
        origin("chat", &self.base_url)
    }

    /// Returns whether the server takes signatures whose origin is not known. Earlier versions kept those of Gemini without it.
    fn takes_unknown_signatures(&self) -> bool {
        find_provider(&self.base_url) == Some("gcp.gemini")
    }

    fn effective_message_rules(&self) -> MessageRules {
        if let Some(rules) = self.message_rules {
            return rules;
        }
        match find_provider(&self.base_url) {
            Some("openai" | "azure.ai.openai" | "deepseek" | "groq" | "x_ai") => MessageRules::OpenAi,
            Some("mistral_ai") => MessageRules::Mistral,
            _ if is_name_of_mistral(&self.model) => MessageRules::Mistral,
            _ => MessageRules::Strict,
        }
    }

    fn effective_token_limit_field(&self) -> TokenLimitField {
        let is_official = find_provider(&self.base_url) == Some("openai");
        self.token_limit_field.unwrap_or(if is_official {
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

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let mut headers = vec![("content-type", SecretString::from("application/json"))];
        if let Some(key) = &self.key {
            headers.push(("authorization", SecretString::from(format!("Bearer {}", key.expose_secret()))));
        }
        let url = format!("{}/chat/completions", self.base_url.trim_end_matches('/'));
        let post = Post { url, headers, body: request::write_body(self, &request) };
        let (messages, tools) = (request.messages, request.tools);
        if self.calls_in_text {
            self.http.stream(post, move || CallsInTextDecoder::new(messages, tools).with_origin(self.origin()))
        } else {
            self.http.stream(post, move || Decoder::new(messages, tools).with_origin(self.origin()))
        }
    }
}

/// The hosts of providers, with OpenTelemetry's names of the providers. A subdomain belongs to the same provider.
const PROVIDERS: [(&str, &str); 10] = [
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.cohere.ai", "cohere"),
];

fn find_provider(url: &str) -> Option<&'static str> {
    let host = host_of(url);
    let is_host = |known: &str| host.strip_suffix(known).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
    PROVIDERS.iter().find(|(known, _)| is_host(known)).map(|(_, name)| *name)
}

/// Returns whether the name is like `mistral`, `devstral`, `magistral` or `mixtral`.
fn is_name_of_mistral(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    model.contains("stral") || model.contains("xtral")
}
