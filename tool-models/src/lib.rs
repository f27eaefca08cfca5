#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod calls;
mod decode;
mod env;
mod fault;
pub mod http;
#[cfg(feature = "openai")]
pub mod openai;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
pub use decode::Decode;
pub use env::from_env;
#[cfg(feature = "openai")]
pub use openai::OpenAi;
