#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod feedback;
pub mod json;
pub mod schema;
