//! Declarations by `#[tool]`, and tools defined at run time: schemas, decoding, validators, outputs and answers.

#![allow(
    clippy::float_cmp,
    clippy::many_single_char_names,
    deprecated,
    reason = "values come back as they were given, and the parameters of test tools need no names and descriptions"
)]

mod agreement;
mod answers;
mod at_run_time;
mod bad_input;
mod context;
mod declare;
mod decode;
mod dynamic;
mod explain;
mod lint;
mod outputs;
mod partial;
mod problems;
mod runtime_data;
mod runtime_tools;
mod schema;
mod shared;
mod toolset;
mod toolsets;
mod wide;
