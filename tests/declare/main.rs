//! Tests of tools that are declared by `#[tool]` or made at run time: schemas, decoding, validators, outputs and answers.

#![allow(
    clippy::float_cmp,
    clippy::many_single_char_names,
    deprecated,
    reason = "values return unchanged, and the parameters of test tools need no names and descriptions"
)]

mod agreement;
mod all_toolsets;
mod answers;
mod attribute;
mod bad_input;
mod context;
mod dynamic;
mod lint;
mod many_parameters;
mod outputs;
mod own_errors;
mod partial;
mod patterns;
mod portable;
mod random_texts;
mod recorded_tools;
mod runtime_dynamic;
mod runtime_tools;
mod schema;
mod shared_data;
mod toolset;
mod typical_mistakes;
