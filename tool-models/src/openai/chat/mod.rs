//! The chat completions protocol.

mod decoder;
pub mod request;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
