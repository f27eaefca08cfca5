//! The chat completions protocol.

pub mod calls_in_text;
mod decoder;
pub mod request;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
