//! The macros of `tool-runtime`.
#![forbid(unsafe_code)]
