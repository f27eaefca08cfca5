#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]
// Its examples need crates above this one: `tests/guide.rs` has them.
#![forbid(unsafe_code)]

#[cfg(feature = "agent")]
pub mod agent;
pub mod gate;
#[cfg(feature = "agent")]
pub mod layer;
pub mod model;
pub mod run;
pub mod store;
#[cfg(feature = "test-util")]
pub mod test;
pub mod tool;
pub mod toolset;

/// The problems in the arguments of a call, in words that a model, a person or a form can act on.
///
/// The other types, and the functions that write the texts, are in [`tool_schema::feedback`].
pub mod feedback {
    #[doc(no_inline)]
    pub use tool_schema::feedback::Rejection;
    pub use tool_schema::feedback::{Choices, PROTOCOL, Problem, ProblemKind, Reasons, Report, escape, one_line};
}

/// JSON text that arrives piece by piece.
///
/// The rest, such as an exact comparison of texts, is in [`tool_schema::json`].
pub mod json {
    pub use tool_schema::json::Incremental;
}

/// The messages of a conversation with a model, their parts, and the calls that a model asks for.
///
/// The functions that read and repair a history are in [`tool_run::message`].
pub mod message {
    pub use tool_run::message::{
        AssistantPart, FinishReason, ProviderPart, ProviderPartKind, Prune, Repaired, ToolCall, ToolMessage, Usage,
    };
    #[doc(no_inline)]
    pub use tool_run::message::{Contents, Message, Part};
}

/// JSON Schemas of inputs and outputs, and their forms for each provider.
///
/// The rest, such as places in a schema and the losses of a dialect, is in [`tool_schema::schema`].
pub mod schema {
    pub use tool_schema::schema::{Dialect, Lowered, Schema, Severity, Validator};
}

#[doc = include_str!("docs/observability.md")]
#[cfg(feature = "tracing")]
pub mod observability {}

#[cfg(feature = "agent")]
pub use agent::{Agent, AgentError};
pub use feedback::Rejection;
pub use message::{Contents, Message, Part};
pub use tool::{
    Approval, CallError, CallFuture, Cancellation, Content, Context, DynamicInput, Effect, Execute, ExecuteWith,
    Failure, Image, Measured, Output, Provide, Ranged, Shown, Text, Textual, Tool, ToolSpec, Validation,
};
#[cfg(feature = "derive")]
pub use tool_derive::{Calls, DynamicInput, Provide, ToolOutput, tool, tools};
pub use toolset::{Calls, Toolset, TypedCall};

#[doc = include_str!("docs/toolset.md")]
#[cfg(feature = "derive")]
#[macro_export]
macro_rules! toolset {
    ($($tokens:tt)*) => { $crate::__private::toolset!([$crate] $($tokens)*) };
}

#[doc = include_str!("docs/lint_test.md")]
#[macro_export]
macro_rules! lint_test {
    ($tools:expr $(,)?) => {
        $crate::lint_test!(tools_are_sound: $tools);
    };
    ($name:ident: $tools:expr $(,)?) => {
        #[cfg(test)]
        #[test]
        fn $name() {
            let tools: $crate::Toolset = $tools;
            tools.lint().deny($crate::toolset::Level::Error);
        }
    };
}

/// Expands to its content, because the feature `collect` is on.
#[cfg(feature = "collect")]
#[doc(hidden)]
#[macro_export]
macro_rules! collect {
    ($($tokens:tt)*) => { $($tokens)* };
}

/// Expands to nothing, because the feature `collect` is off.
#[cfg(not(feature = "collect"))]
#[doc(hidden)]
#[macro_export]
macro_rules! collect {
    ($($tokens:tt)*) => {};
}

/// The names that expansions of the macros use. Not public API: they change without notice.
#[doc(hidden)]
pub mod __private {
    pub use std::boxed::Box;

    pub use futures_util::future::BoxFuture;
    #[cfg(feature = "collect")]
    pub use inventory;
    pub use serde_json::Value;
    #[cfg(feature = "derive")]
    pub use tool_derive::toolset;

    pub use crate::collect;
    pub use crate::message::ToolCall;
    pub use crate::tool::dynamic::{
        Asking, CheckCall, CheckFuture, Checked, Checker, Choosing, Chosen, DynamicInput, Judged, Judging, Keep,
        Keeping, Kept, Known, LaterValidation, Lend, Lent, Node, One, Seen, Settling, Understood, Validate, Validator,
        Validators, Variants, Wanted, Whole, whole,
    };
    pub use crate::tool::expansion::{
        AskedFallback, AsksFallback, CallContext, CheckReturnedFallback, CheckerFallback, ChecksFallback,
        ExecutingFallback, HookFallback, Json, JsonFallback, JudgingFallback, KeepingFallback, KindFallback, Predicate,
        ReturnedFallback, SettlingFallback, Shared, SharedFallback, Unkeepable, UsualFallback, ValidatorFallback, When,
        WholeFallback, WorkFallback, again, assert_first, assert_unique, constant, context, outside, touched,
    };
    pub use crate::tool::{
        Approval, CallError, CallFuture, Context, Effect, Execute, ExecuteWith, Provide, Refused, Resources, Started,
        Tool, WithState,
        binding::{BeginWithState, Binding, Start},
        declare::Stateless,
        decode::Many,
        def::{Def, Options, UiTexts, Union},
        field::{Answer, Field, Given, Tag, Typed, Usual},
        hooks::{Hook, Hooks},
        lacking::*,
        output::{Fallible, Kind, Plain, Returned},
        rule::{Check, Format, Number, Pattern},
        work::{Executing, ExecutingWith, Executor, Taken, Work},
    };
    pub use crate::toolset::{
        Calls, Toolset,
        calls::{Held, not_available},
        lint::Dice,
    };
    #[cfg(feature = "collect")]
    pub use crate::toolset::{
        States,
        collect::{Collect, Collected, need},
    };

    // These types appear in the signatures of the items above.
    pub use crate::tool::dynamic::{Asks, Board, CheckReturned, Checks, Keepable, Raw, Settled, ValidatorReturned};
    pub use crate::tool::expansion::{Asked, Idle, NoAnswer, Unasked, Unchecked};
}
