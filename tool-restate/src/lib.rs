#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod drive;
mod engine;
mod keeper;
mod log;
mod store;
mod wire;

pub use engine::RestateStore;
