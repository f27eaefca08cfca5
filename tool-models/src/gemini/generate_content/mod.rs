//! The API `streamGenerateContent`: a request and its response are contents, which consist of parts.

mod decoder;
mod partial_args;
pub(crate) mod request;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
