#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod drive;
mod keeper;
mod log;
mod store;
mod workflow;

pub use store::TemporalStore;
