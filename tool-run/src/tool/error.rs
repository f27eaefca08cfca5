//! The failure of a tool, and the other ways in which a call ends without an output.

use std::{any::Any, error::Error, fmt, time::Duration};

use crate::feedback::{self, Rejection};
use crate::message::{Part, quote_rejection};
use crate::tool::{Effect, ToolSpec};

/// The failure of a tool, with a text for the model, and a cause for hooks, observers and `CallLog`.
///
/// A tool that returns `Result<T, MyError>` shows the model the error's `Display` text. A tool that returns `Result<T,
/// Failure>` decides for each error. `?` hides the error from the model, unless the error is a [`Rejection`]. [`Failure::new`]
/// gives the model a text.
///
/// ```
/// use tool_run::tool::Failure;
///
/// fn read(path: &str) -> Result<String, Failure> {
///     std::fs::read_to_string(path)
///         .map_err(|error| Failure::new(format!("there is no file `{path}`")).source(error))
/// }
/// let failure = read("/none").unwrap_err();
/// assert_eq!(failure.for_model(), "there is no file `/none`");
/// assert!(failure.for_log().contains("No such file"));
/// ```
pub struct Failure(Box<Parts>);

/// The parts of a failure. They are boxed, because an unboxed error would make every `Result` of a tool larger.
#[derive(Default)]
struct Parts {
    message: Option<String>,
    cause: Option<String>,
    retryable: bool,
    /// The name with which the failure blocks the run of its call.
    blocks: Option<String>,
    feedback: Option<Rejection>,
}

impl Failure {
    /// Creates a failure with `text` for the model.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Box::new(Parts { message: Some(text.into()), ..Parts::default() }))
    }

    /// Creates a failure that hides its cause from the model. Hooks, observers and `CallLog` receive the `Debug` text of
    /// `cause`.
    pub fn hidden(cause: impl fmt::Debug) -> Self {
        Self(Box::new(Parts { cause: Some(format!("{cause:?}")), ..Parts::default() }))
    }

    fn rejected(feedback: Rejection) -> Self {
        Self(Box::new(Parts { message: Some(feedback.to_string()), feedback: Some(feedback), ..Parts::default() }))
    }

    /// Sets the cause. Only hooks, observers and `CallLog` receive its `Debug` text.
    pub fn source(mut self, cause: impl fmt::Debug) -> Self {
        self.0.cause = Some(format!("{cause:?}"));
        self
    }

    /// Marks the failure as temporary: the same call may succeed when it is tried again.
    pub fn retryable(mut self) -> Self {
        self.0.retryable = true;
        self
    }

    /// Lets the failure block the run of its call: other calls end, no model is asked again, and the run stops with
    /// [`StopReason::Blocked`](crate::run::StopReason::Blocked), which has the name `by` and the text for the model. A layer
    /// or a tool ends a run in this way. Outside of a run, it is a failure like any other. If the run is inside of a call, only that
    /// inner run is blocked, and the call fails.
    ///
    /// ```
    /// use tool_run::tool::{CallError, Failure};
    ///
    /// fn check(arguments: &str) -> Result<(), CallError> {
    ///     if arguments.contains("sk-") {
    ///         return Err(Failure::new("the arguments have a key").block_run("keys").into());
    ///     }
    ///     Ok(())
    /// }
    /// assert!(check(r#"{"text": "sk-123"}"#).is_err());
    /// ```
    pub fn block_run(mut self, by: impl Into<String>) -> Self {
        self.0.blocks = Some(by.into());
        self
    }

    /// Returns the name that was given to [`Failure::block_run`].
    pub fn blocked_by(&self) -> Option<&str> {
        self.0.blocks.as_deref()
    }

    /// Marks this failure like `error`, which it replaces.
    #[doc(hidden)]
    pub fn marked_like(mut self, error: &CallError) -> Self {
        if let CallError::Failed(other) = error {
            self.0.retryable = other.0.retryable;
            self.0.blocks.clone_from(&other.0.blocks);
        }
        self
    }

    /// Returns the text for the model, or `None` if the failure has no text of its own.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// Returns the problems with the arguments, if the tool reported any. The model receives them in the form of a rejection.
    pub fn rejection(&self) -> Option<&Rejection> {
        self.0.feedback.as_ref()
    }

    /// Returns whether the same call may succeed when it is tried again.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable && self.0.blocks.is_none()
    }

    /// Returns the text for the model: [`Failure::message`], or else `the tool failed`.
    pub fn for_model(&self) -> &str {
        self.0.message.as_deref().unwrap_or("the tool failed")
    }

    /// Returns the complete text, with the cause, for a log of the application.
    pub fn for_log(&self) -> String {
        match (&self.0.message, &self.0.cause) {
            (Some(message), Some(cause)) => format!("{message}: {cause}"),
            (Some(text), None) | (None, Some(text)) => text.clone(),
            (None, None) => self.for_model().to_owned(),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.for_log())
    }
}

// There is no `Display` and no `Error`, so that `?` can convert every error into a `Failure`.
impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = match downcast_rejection(error) {
            Ok(feedback) => return Self::rejected(feedback),
            Err(error) => error,
        };
        Self(Box::new(Parts { cause: Some(feedback::describe_error(&error)), ..Parts::default() }))
    }
}

/// Returns `error` as a [`Rejection`] if it has this type. Otherwise fails with the unchanged error.
fn downcast_rejection<E: 'static>(error: E) -> Result<Rejection, E> {
    let mut error = Some(error);
    if let Some(feedback) = (&mut error as &mut dyn Any).downcast_mut::<Option<Rejection>>() {
        return feedback.take().ok_or_else(|| unreachable!("it is there until it is taken"));
    }
    error.map_or_else(|| unreachable!("nobody took it"), Err)
}

/// An error that a tool may return: any type with `Display` and `Debug`, or a [`Failure`].
///
/// The model receives the `Display` text: write it for the model. The log also receives the `Debug` text. If the error is a
/// [`Rejection`], the model receives it with every problem, like that of wrong arguments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "has no `Display` and `Debug`",
    note = "derive `Debug` and implement `Display` (for example with `thiserror`): the model receives the `Display` text, the log the `Debug` text",
    note = "or return `Result<_, tool_runtime::Failure>`, which any error converts into with `?`"
)]
pub trait ToolError {
    /// Converts the error into a failure.
    fn into_failure(self) -> Failure;
}

#[diagnostic::do_not_recommend]
impl<E: fmt::Display + fmt::Debug + 'static> ToolError for E {
    fn into_failure(self) -> Failure {
        let error = match downcast_rejection(self) {
            Ok(feedback) => return Failure::rejected(feedback),
            Err(error) => error,
        };
        let (message, cause) = (error.to_string(), format!("{error:?}"));
        // The `Debug` text of a text has only quotes in addition.
        let cause = Some(cause).filter(|cause| *cause != message && *cause != format!("{message:?}"));
        Failure(Box::new(Parts { cause, message: Some(message), ..Parts::default() }))
    }
}

#[diagnostic::do_not_recommend]
impl ToolError for Failure {
    fn into_failure(self) -> Failure {
        self
    }
}

/// The reason why a call ended without an output. [`CallError::for_model`] returns the content for the model.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// No tool on offer has this name.
    NotAvailable {
        /// The name that was called.
        name: String,
        /// The offered name that is nearest to `name`.
        suggestion: Option<String>,
    },
    /// The arguments were rejected; the tool did not run.
    Rejected(Rejection),
    /// The tool ran and failed.
    Failed(Failure),
    /// The tool, or code that its arguments needed, panicked.
    Panicked {
        /// The panic's text, for hooks and observers.
        message: String,
    },
    /// A policy does not allow the call; the tool did not run.
    PolicyDenied {
        /// The reason.
        reason: Option<String>,
    },
    /// A person denied the call; the tool did not run.
    Denied {
        /// The reason, in that person's words.
        reason: Option<String>,
    },
    /// The call took longer than allowed. It may have had effects.
    TimedOut {
        /// The allowed time.
        limit: Duration,
    },
    /// The call was cancelled. It may have had effects.
    Cancelled,
    /// A limit on calls was reached; the tool did not run.
    LimitReached {
        /// The text about the limit, for the model.
        limit: String,
    },
    /// The call needed an executor outside this program, and there was none.
    NotExecuted,
}

impl CallError {
    /// Returns the content for the model: text, or the JSON of a rejection that has no text ([`Rejection::for_model`]).
    ///
    /// A text that a model could take for a rejection is in quotation marks.
    pub fn for_model(&self) -> Part {
        match self.rejection() {
            Some(feedback) => rejection_part(feedback),
            None => Part::text(quote_rejection(self.message())),
        }
    }

    /// Adds the text for the model to a rejection ([`Rejection::explain`]). Another error is unchanged.
    #[doc(hidden)]
    pub fn explain(self, spec: &ToolSpec, arguments: &str) -> Self {
        let explain = |rejection: Rejection| rejection.explain(&spec.name, spec.input.neutral(), arguments);
        match self {
            Self::Rejected(rejection) => Self::Rejected(explain(rejection)),
            Self::Failed(mut failure) => {
                failure.0.feedback = failure.0.feedback.map(explain);
                Self::Failed(failure)
            }
            other => other,
        }
    }

    /// Returns the problems with the arguments, from the decoder or from the tool itself.
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::Failed(failure) => failure.rejection(),
            _ => None,
        }
    }

    /// Returns the complete text, with the cause, for a log of the application.
    pub fn for_log(&self) -> String {
        match self {
            Self::Failed(failure) => failure.for_log(),
            Self::Rejected(rejection) if !rejection.causes().is_empty() => {
                format!("{rejection}\n{}", rejection.causes().join("\n"))
            }
            Self::Panicked { message } => format!("panicked: {message}"),
            other => other.facts().0,
        }
    }

    /// Creates the error of a call whose tool did not begin within `limit`.
    pub fn waited_too_long(limit: Duration) -> Self {
        Self::LimitReached { limit: format!("the call waited longer than {} s for its turn", limit.as_secs_f64()) }
    }

    /// Returns whether it is certain that the tool did not run.
    pub fn did_not_run(&self) -> bool {
        matches!(
            self,
            Self::NotAvailable { .. }
                | Self::Rejected(_)
                | Self::PolicyDenied { .. }
                | Self::Denied { .. }
                | Self::LimitReached { .. }
                | Self::NotExecuted
        )
    }

    /// Returns the text for a tool whose effect is unknown.
    fn message(&self) -> String {
        self.with_claim("; if it has effects, they may have happened")
    }

    /// Returns the text like `Display`, for a tool with this effect: no text says that a tool that only reads may have had effects.
    pub fn text_of(&self, effect: Effect) -> String {
        self.with_claim(if effect == Effect::ReadOnly { "" } else { "; it may have had effects" })
    }

    /// Returns the text, followed by `claim` if the call may have had effects.
    fn with_claim(&self, claim: &str) -> String {
        let (text, may_have_effects) = self.facts();
        if may_have_effects { text + claim } else { text }
    }

    /// Returns the text without the claim about effects, and whether the call may have had effects if its tool has any.
    fn facts(&self) -> (String, bool) {
        let text = match self {
            Self::NotAvailable { name, suggestion } => not_available(name, suggestion.as_deref()),
            Self::Rejected(rejection) => rejection.to_string(),
            Self::Failed(failure) => failure.for_model().to_owned(),
            Self::Panicked { .. } => return ("the tool failed".to_owned(), true),
            Self::PolicyDenied { reason } => {
                format!("a policy does not allow the call; it did not run{}", because(reason.as_deref()))
            }
            Self::Denied { reason } => format!("the call was denied, and did not run{}", because(reason.as_deref())),
            Self::TimedOut { limit } => {
                return (format!("the tool did not answer within {} s", limit.as_secs_f64()), true);
            }
            Self::Cancelled => return ("the call was cancelled".to_owned(), true),
            Self::LimitReached { limit } => format!("the call did not run: {limit}"),
            Self::NotExecuted => "no client executed the call".to_owned(),
        };
        (text, false)
    }
}

/// Returns a rejection as the model receives it.
pub fn rejection_part(rejection: &Rejection) -> Part {
    match rejection.for_model() {
        Some(text) => Part::text(text),
        None => Part::Json { json: rejection.to_json_text() },
    }
}

/// Returns the reason of a denial as the end of a sentence.
pub fn because(reason: Option<&str>) -> String {
    reason.map(|text| format!(": {text}")).unwrap_or_default()
}

/// Returns the text about a call of `name` when no tool on offer has this name.
pub fn not_available(name: &str, suggestion: Option<&str>) -> String {
    let name = feedback::quote_name(name);
    match suggestion {
        None => format!("there is no tool called {name}"),
        Some(near) => format!("there is no tool called {name}; did you mean `{near}`?"),
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message())
    }
}

impl std::error::Error for CallError {}

impl From<Rejection> for CallError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
