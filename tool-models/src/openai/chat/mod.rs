//! The chat completions protocol.

mod decoder;
pub mod request;
mod signatures;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
