//! The Responses API.

mod decoder;
pub mod request;
#[cfg(test)]
mod tests;

pub use decoder::ResponsesDecoder;
