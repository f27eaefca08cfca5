//! The interface to a language model: one streaming method, and models that implement it.
//!
//! A [`Model`] gets the conversation and the tools on offer, and streams back text and calls. It does not know how calls are
//! executed. So a scripted model, a person at a terminal and a provider over HTTP look the same to an agent.

mod scripted;
mod turn;

use std::{error, fmt, sync::Arc, time::Duration};

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::feedback::FeedbackFormat;
#[doc(no_inline)]
pub use crate::message::{FinishReason, Usage};
use crate::message::{Message, Part};
use crate::toolset::ToolList;
pub use scripted::{FunctionModel, OwnedRequest, ScriptedModel, ScriptedTurn};
pub use turn::{Delta, Turn};

/// A language model, or a substitute for one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "`Model` is not implemented",
    note = "models are `OpenAi`, `Anthropic`, `Gemini`, `ScriptedModel`, a `FunctionModel`, or a `Box` or an `Arc` of one; or implement `Model`"
)]
pub trait Model: Send + Sync {
    /// Returns the model's name, for logs.
    fn name(&self) -> &str;

    /// Returns the model's provider, for traces: a well-known value of OpenTelemetry's `gen_ai.provider.name`, if there is one.
    fn provider(&self) -> Option<&str> {
        None
    }

    /// Returns whether the model can take a part of a prompt or of a result that is not text: an image, sound, a document or a file.
    ///
    /// The agent asks before each request, with parts whose [`as_text`](Part::as_text) is `None`. What happens to a part that the
    /// model cannot take is a setting of the agent. The default is `true` for every part.
    fn takes(&self, part: &Part) -> bool {
        let _ = part;
        true
    }

    /// Returns the form in which the model receives rejected calls, unless the [toolset](crate::Toolset::feedback_format) sets
    /// one. The default is text.
    fn feedback_format(&self) -> FeedbackFormat {
        FeedbackFormat::default()
    }

    /// Produces one turn. The stream ends after [`Delta::Finish`] or after the first error. A stream that ends without either was
    /// cut off: none of its calls runs, except complete calls of `eager` tools.
    ///
    /// Dropping the stream cancels the turn.
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn provider(&self) -> Option<&str> {
        (**self).provider()
    }

    fn takes(&self, part: &Part) -> bool {
        (**self).takes(part)
    }

    fn feedback_format(&self) -> FeedbackFormat {
        (**self).feedback_format()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        (**self).stream(request)
    }
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn provider(&self) -> Option<&str> {
        (**self).provider()
    }

    fn takes(&self, part: &Part) -> bool {
        (**self).takes(part)
    }

    fn feedback_format(&self) -> FeedbackFormat {
        (**self).feedback_format()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        (**self).stream(request)
    }
}

/// The request to a model in one turn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The conversation, oldest first. Every call in it has a result.
    pub messages: &'a [Message],
    /// The tools on offer.
    pub tools: &'a ToolList,
    /// The tool choice: the model may, must or must not call a tool.
    pub tool_choice: &'a ToolChoice,
    /// The sampling settings, and the limit on size.
    pub settings: &'a ModelSettings,
    /// The tool among `tools` whose arguments are the run's typed answer; `None` if the run waits for no such answer. A model may send
    /// the tool's schema as its provider's structured output, without the tool: a text that is such JSON is an answer, too.
    pub answer_tool: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// Creates a request with the default tool choice and settings.
    pub fn new(messages: &'a [Message], tools: &'a ToolList) -> Self {
        static CHOICE: ToolChoice = ToolChoice::Auto;
        static SETTINGS: ModelSettings =
            ModelSettings { max_tokens: None, temperature: None, allow_parallel_calls: None, reasoning_effort: None };
        Self { messages, tools, tool_choice: &CHOICE, settings: &SETTINGS, answer_tool: None }
    }

    /// Sets the tool choice.
    pub fn with_choice(mut self, choice: &'a ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets the settings.
    pub fn with_settings(mut self, settings: &'a ModelSettings) -> Self {
        self.settings = settings;
        self
    }
}

/// The choice of tools: a model may, must or must not call one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must call some tool.
    Required,
    /// The model must not call a tool.
    None,
    /// The model must call the tool of this name.
    Tool(String),
}

#[cfg(feature = "agent")]
impl ToolChoice {
    /// Returns the choice with the tool's name as it is in the list for models.
    pub(crate) fn as_offered(&self) -> Self {
        match self {
            Self::Tool(name) => Self::Tool(tool_run::tool::to_valid_name(name).into_owned()),
            other => other.clone(),
        }
    }
}

/// The sampling settings of one turn, and its limit on size; `None` leaves a value to the provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelSettings {
    /// The maximum number of tokens that the model may produce.
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f32>,
    /// Set if the model may ask for several calls in one turn.
    #[serde(rename = "parallel_calls")]
    pub allow_parallel_calls: Option<bool>,
    /// The effort of reasoning before the answer. A format without such a setting ignores it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// The effort of reasoning before an answer. Each format has its own levels. A level that it lacks becomes the nearest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// No reasoning, or as little as the model can.
    None,
    /// Very little.
    Minimal,
    /// Little, for quick answers.
    Low,
    /// The usual effort.
    Medium,
    /// Much, for hard questions.
    High,
    /// As much as the model can.
    Max,
}

/// The error of a turn that failed.
#[derive(Debug)]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
    /// The part of the answer that the message is about.
    excerpt: Option<String>,
    retry_after: Option<Duration>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The kind of a [`ModelError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The model is not configured correctly: a missing key, a wrong address.
    Configuration,
    /// The provider refused the credentials.
    Unauthorized,
    /// The provider refused the request; a retry will not help.
    Refused,
    /// The provider requires fewer requests.
    RateLimited,
    /// The provider or the network failed; a retry may help.
    Unavailable,
    /// The answer violates the protocol.
    Protocol,
    /// A script or recording has no more turns, or did not expect this request.
    Script,
}

impl ModelError {
    /// Creates an error of `kind`. `message` says what to do about it, and must contain no secret.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), excerpt: None, retry_after: None, source: None }
    }

    /// Adds the part of the model's answer that the message is about. `Display` has it. The log has it, and the causes, only with
    /// [`Agent::trace_content`](crate::Agent::trace_content).
    pub fn with_excerpt(mut self, excerpt: impl Into<String>) -> Self {
        self.excerpt = Some(excerpt.into());
        self
    }

    /// Changes the message and the excerpt, for example to remove a secret.
    pub fn map_texts(mut self, change: impl Fn(String) -> String) -> Self {
        self.message = change(self.message);
        self.excerpt = self.excerpt.map(change);
        self
    }

    /// Returns the text and the causes. Of an error about a part of the answer, returns only the message, because causes may quote
    /// that part, too.
    #[cfg(feature = "agent")]
    pub(crate) fn without_excerpt(&self) -> String {
        match self.excerpt {
            Some(_) => format!("{} (`Agent::trace_content(true)` shows the part of the answer)", self.message),
            None => tool_schema::feedback::describe_error(self),
        }
    }

    /// Adds the cause.
    pub fn with_source(mut self, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets how long the provider asked to wait.
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// Returns how long the provider asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, ModelErrorKind::RateLimited | ModelErrorKind::Unavailable)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        self.excerpt.as_ref().map_or(Ok(()), |excerpt| write!(out, ": {excerpt}"))
    }
}

impl error::Error for ModelError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
