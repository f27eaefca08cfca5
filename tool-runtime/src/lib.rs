//! Declares tools for language models, and runs them.
//!
//! [`#[tool]`](macro@tool) makes a function a tool: with a schema, enforced limits and a rule for approvals. [`toolset!`]
//! combines tools and binds them to the application's state. An [`Agent`] gives them to a model. The agent validates each call,
//! waits for the approvals that a tool requires, runs the call, and returns the result to the model. With a
//! [store](store::Store), a run survives a crash, and continues in another process.
//!
//! ```
//! use tool_runtime::{
//!     Agent, AgentError,
//!     model::{ScriptedModel, Turn},
//!     tool, toolset,
//! };
//!
//! /// Get the usual temperature of a city, in degrees Celsius.
//! #[tool(effect = read_only)]
//! async fn get_temperature(
//!     /// City name in English.
//!     city: String,
//!     /// Month, 1 for January.
//!     #[arg(range(1..=12))]
//!     month: u8,
//! ) -> Result<f64, String> {
//!     match city.as_str() {
//!         "Oslo" => Ok(if (5..=9).contains(&month) { 14.0 } else { 0.0 }),
//!         _ => Err(format!("no weather station in {city}")),
//!     }
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), AgentError> {
//!     // This scripted model replays two turns. The crate `tool-models` has models over HTTP.
//!     let model = ScriptedModel::new([
//!         Turn::call("get_temperature", r#"{"city": "Oslo", "month": 7}"#),
//!         Turn::say("Oslo is usually about 14 °C in July."),
//!     ]);
//!     let reply = Agent::new(model).tools(toolset!(get_temperature)).run("How warm is Oslo in July?").await?;
//!     assert_eq!(reply.text, "Oslo is usually about 14 °C in July.");
//!     Ok(())
//! }
//! ```
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`tool`](mod@tool) | one tool: its definition, its context, its outputs and errors, dynamic parameters |
//! | [`toolset`](mod@toolset) | sets of tools: names, selection, layers, policies, run-time tools, [`Toolset::lint`] |
//! | [`agent`] | the loop that drives runs: [`Agent`], [`Session`](agent::Session), observers, operators |
//! | [`run`] | a run as data: its phase, calls, interrupts and limits |
//! | [`model`] | the interface to a model, and scripted models |
//! | [`store`] | the interface to a store of runs, and a store in memory |
//! | [`layer`] | layers around calls: logs, time limits, retries, circuit breakers and others |
//! | [`gate`] | the checks of a call before it may run |
//! | [`message`] | the messages of a conversation |
//! | [`schema`], [`json`], [`feedback`] | JSON Schemas, partial JSON, and the problems in arguments |
//! | [`observability`] | spans, events and metrics of a run |
//! | [`test`](mod@test) | test doubles for models, people and clocks |
//!
//! # Crates beside this one
//!
//! `tool-models` connects models over HTTP. `tool-stores` keeps runs in SQLite or PostgreSQL, `tool-restate` in Restate, and
//! `tool-temporal` in Temporal. `tool-server` serves agents to frontends and MCP clients, and `tool-terminal` to a person at a
//! terminal.
//!
//! The folder `docs` of the repository has the guide. Begin with its page "The first tool".

#![forbid(unsafe_code)]

#[cfg(feature = "agent")]
pub mod agent;
pub mod gate;
#[cfg(feature = "agent")]
pub mod layer;
pub mod model;
pub mod run;
pub mod store;
mod sync;
#[cfg(feature = "test-util")]
pub mod test;
pub mod tool;
pub mod toolset;

/// The problems in the arguments of a call, in words that a model, a person or a form can act on.
///
/// The other types, and the functions that write the texts, are in [`tool_schema::feedback`].
pub mod feedback {
    pub use tool_schema::feedback::{Choices, Problem, ProblemKind, Reasons, Report};
    #[doc(no_inline)]
    pub use tool_schema::feedback::{FeedbackFormat, MODEL_INSTRUCTIONS, Rejection, escape, one_line};
}

/// JSON text that arrives piece by piece.
///
/// The rest, such as an exact comparison of texts, is in [`tool_schema::json`].
pub mod json {
    #[doc(no_inline)]
    pub use tool_schema::json::IncrementalJson;
}

/// The messages of a conversation with a model, their parts, and the calls that a model asks for.
///
/// The functions that read and repair a history are in [`tool_run::message`].
pub mod message {
    pub use tool_run::message::{AssistantPart, FinishReason, Pruning, ToolCall, ToolMessage, Usage};
    #[doc(no_inline)]
    pub use tool_run::message::{
        Media, MediaKind, MediaRef, Message, Part, ProviderPart, ProviderPartKind, Repair, ResourceContents, Signature,
        Source, SourceRef,
    };
}

/// JSON Schemas of inputs and outputs, and their forms for each provider.
///
/// The rest, such as places in a schema and the losses of a dialect, is in [`tool_schema::schema`].
pub mod schema {
    pub use tool_schema::schema::{CompiledSchema, Dialect, ReadText, Schema};
    #[doc(no_inline)]
    pub use tool_schema::schema::{LoweredSchema, Severity};
}

#[doc = include_str!("docs/observability.md")]
#[cfg(feature = "agent")]
pub mod observability {}

#[cfg(feature = "agent")]
pub use agent::{Agent, AgentError};
pub use feedback::Rejection;
pub use message::{Media, Message, Part, ResourceContents};
pub use tool::{
    Approval, CallError, CallFuture, Cancellation, Content, Context, DynamicInput, Effect, Execute, ExecuteWith,
    Failure, HasLength, HasNumber, HasText, Image, Judged, Output, OutputWithContent, Provide, Text, Tool, ToolSpec,
    Validation,
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
            tools.lint().deny($crate::toolset::LintLevel::Error);
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

/// The names that expansions of the macros use. They are not public API, and change without notice.
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
        AcceptedInput, ArgumentValidation, CheckCall, CheckFuture, Checked, Checker, DerivedData, DerivedValues,
        DynamicInput, InputWitness, Judged, LaterValidation, MAX_ELEMENTS, NestedState, NestedValidation, Node,
        OneState, ProvideNested, ReadVariant, Seen, SlotWitness, StateParts, StoredValue, Validate, Validator,
        ValidatorAnswer, ValidatorInputs, Validators, ValueSlot, VariantValidation, Variants, VisibleToValidators,
        derived_data, read_validated,
    };
    pub use crate::tool::expansion::{
        ArgumentValidationFallback, BuiltInTypeFallback, CallCheckFallback, CallContext, CallPredicateFallback,
        CheckReturnedFallback, CheckerFallback, ExecuteWitnessFallback, HookFallback, InputWitnessFallback, Json,
        JsonFallback, KindFallback, NestedValidationFallback, ParameterValidatorFallback, Predicate, ReturnedFallback,
        Shared, SharedFallback, SlotWitnessFallback, UnusableType, ValidatorFallback, When, WorkFallback, assert_first,
        assert_unique, constant, context, find_repeats, never_executed, resources_of_call,
    };
    pub use crate::tool::{
        AcceptedCall, Approval, CallError, CallFuture, Context, DecodeError, Effect, Execute, ExecuteWith, Provide,
        Tool, TouchedResources, WithState,
        binding::{BeginWithState, Binding, Start, Work},
        declare::Stateless,
        decode::Many,
        def::{Def, Options, UiTexts, Union},
        executor::{ExecuteWithWitness, ExecuteWitness, Executor, StateCloner},
        field::{BuiltInType, DefaultValue, Field, FieldCode, Tag, TypeWitness},
        missing_traits::*,
        output::{Fallible, Kind, Plain, Returned},
        rule::{Check, Format, Number, Pattern},
        typed_hooks::{Hook, Hooks},
    };
    pub use crate::toolset::{
        Calls, Toolset,
        calls::{VariantCall, not_available},
    };
    #[cfg(feature = "collect")]
    pub use crate::toolset::{
        States,
        collect::{Collect, Collected, need},
    };

    // These types appear in the signatures of the items above.
    pub use crate::tool::dynamic::{
        CallCheck, CheckReturned, GivenArguments, ParameterResult, ParameterResults, ParameterValidator, SlotType,
        ValidatorReturned,
    };
    pub use crate::tool::expansion::{
        CallPredicate, NoValidatorAnswer, NotExecutable, UncalledCheck, UncalledValidator,
    };
}
