#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod negotiating;
mod terminal;

pub use negotiating::NegotiatingModel;
pub use terminal::Terminal;
