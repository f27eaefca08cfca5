#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
mod calls;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
mod conversation;
mod env;
mod error;
#[cfg(feature = "gemini")]
pub mod gemini;
pub mod http;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
mod lenient;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
mod media;
#[cfg(feature = "openai")]
pub mod openai;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
mod origin;
#[cfg(all(test, feature = "anthropic", feature = "gemini", feature = "openai"))]
mod provider_rules;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
mod structured;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
mod tokens;
#[cfg(all(test, feature = "anthropic", feature = "gemini", feature = "openai"))]
mod typed_answers;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
pub use env::from_env;
#[cfg(feature = "gemini")]
pub use gemini::Gemini;
pub use http::response::Decode;
#[cfg(feature = "openai")]
pub use openai::OpenAi;
