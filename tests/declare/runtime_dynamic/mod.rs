//! Tests of run-time tools with dynamic parameters, through the public API.

mod null;
mod random;
mod tools;
