#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(feature = "agent")]
pub mod agent;
mod digest;
mod text;
pub use tool_schema::{feedback, json, schema};
#[cfg(feature = "agent")]
pub mod layer;
pub mod message;
pub mod model;
pub mod run;
pub mod store;
#[cfg(feature = "test-util")]
pub mod test;
pub mod tool;
pub mod toolset;

#[doc = include_str!("docs/observability.md")]
#[cfg(feature = "tracing")]
pub mod observability {}

#[cfg(feature = "agent")]
pub use agent::{Agent, AgentError};
pub use feedback::Rejection;
pub use message::{Contents, Message, Part};
pub use tool::{
    Approval, CallError, CallFuture, Cancellation, Content, Context, DynamicInput, Effect, Execute, ExecuteWith,
    Failure, Image, Measured, Output, Provide, Ranged, Shown, Text, Textual, Tool, ToolSpec, Verdict,
};
#[cfg(feature = "derive")]
pub use tool_derive::{Calls, DynamicInput, Provide, ToolOutput, tool, tools};
pub use toolset::{Call, Calls, Toolset};

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

/// Its content, with the feature `collect`.
#[cfg(feature = "collect")]
#[doc(hidden)]
#[macro_export]
macro_rules! collect {
    ($($tokens:tt)*) => { $($tokens)* };
}

/// Nothing, without the feature `collect`.
#[cfg(not(feature = "collect"))]
#[doc(hidden)]
#[macro_export]
macro_rules! collect {
    ($($tokens:tt)*) => {};
}

/// What the macros' expansions use. Not public API: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use std::boxed::Box;

    pub use futures_util::future::BoxFuture;

    pub use serde_json::Value;

    pub use crate::collect;
    pub use crate::message::ToolCall;
    pub use crate::tool::dynamic::*;
    pub use crate::tool::expansion::{
        Json, Name, NoJson, NoName, Shared, Unshared, again, asks, assert_first, assert_unique, constant, outside,
    };
    pub use crate::tool::fitting::{Asked, CallContext, NoPredicate, Predicate, When, context};
    pub use crate::tool::*;
    pub use crate::toolset::{CallOf, Calls, Dice, Held, Toolset, not_available};
    #[cfg(feature = "collect")]
    pub use crate::toolset::{Collect, Collected, States, need};
    #[cfg(feature = "collect")]
    pub use inventory;
    #[cfg(feature = "derive")]
    pub use tool_derive::toolset;
}
