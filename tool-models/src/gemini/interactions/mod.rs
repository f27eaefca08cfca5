//! The Interactions API: a request and its response are steps, such as a thought, a call or an output.

mod decoder;
pub(crate) mod request;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
