//! One tool: its declaration, its typed input and output, and the context of a call.

pub(crate) mod binding;
mod check;
mod compiled;
mod context;
pub(crate) mod declare;
pub(crate) mod decode;
pub(crate) mod def;
mod deserializer;
mod diagnose;
pub(crate) mod dynamic;
pub(crate) mod executor;
pub(crate) mod expansion;
pub(crate) mod field;
pub(crate) mod hooks;
mod input;
pub(crate) mod missing_traits;
pub(crate) mod output;
pub(crate) mod rule;
mod schemas;
mod start;
mod type_error;
pub(crate) mod typed_hooks;

pub use binding::{AcceptedCall, CallFuture, ErasedTool, PrepareFuture};
pub use context::{Cancellation, Context, Journal, Progress};
pub use declare::{Execute, ExecuteWith, Provide, Tool, WithState};
pub use decode::DecodeError;
pub use dynamic::{Choice, DynamicInput, IntoValidation, Judged, Validation};
pub use executor::{Owned, State};
pub use hooks::InputHooks;
pub use input::{ToolInput, ToolSecret};
pub use output::{Content, Image, OutputWithContent, Text, ToolOutput};
pub use rule::{HasLength, HasNumber, HasText, LengthUnit, Number};
#[doc(no_inline)]
pub use tool_run::tool::{Approval, CallError, Effect, Failure, Output, ToolSpec, TouchedResources};
pub use tool_run::tool::{Question, QuestionAnswer, ToolError, ToolOptions, Ui};
pub use typed_hooks::{HookFuture, PartialInput};

pub(crate) use binding::{Binding, Bound, Start, streamed, yield_once};
pub(crate) use check::{accept, read_valid, read_with_problems};
#[cfg(feature = "agent")]
pub(crate) use check::{read_as, read_typed};
pub(crate) use decode::Values;
pub(crate) use def::Def;
pub(crate) use diagnose::not_an_object;
pub(crate) use dynamic::panic_text;
#[cfg(feature = "agent")]
pub(crate) use schemas::describe_output;
pub(crate) use start::start;
#[cfg(feature = "agent")]
pub(crate) use start::{poll_on_executor, poll_on_thread};
pub(crate) use tool_run::tool::KnownFingerprints;
