//! The chat completions protocol.

mod decoder;
#[cfg(test)]
mod replay_tests;
pub mod request;
mod signatures;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
