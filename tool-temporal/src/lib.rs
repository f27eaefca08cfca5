#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod drive;
mod keeper;
mod log;
mod pages;
mod store;
mod turns;
mod workflow;

pub use store::TemporalStore;
