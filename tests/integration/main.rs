//! The workspace as a user sees it.

#![allow(
    clippy::float_cmp,
    clippy::many_single_char_names,
    deprecated,
    reason = "values come back as they were given, and the parameters of test tools need no names and descriptions"
)]

mod agent;
mod agreement;
mod answer;
mod bad_input;
mod breaker;
mod context;
mod declare;
mod decode;
mod duplicates;
mod dynamic;
mod explain;
mod guards;
mod hooks;
mod idempotency;
mod layers;
mod lint;
mod middleware;
mod odd_models;
mod outputs;
mod parameters;
mod partial;
mod problems;
mod runtime_data;
mod runtime_tools;
mod schema;
mod sealed;
mod secrets;
mod shared;
mod streams;
mod terminal;
mod testing;
mod toolset;
mod traces;
mod typed;
mod wide;
