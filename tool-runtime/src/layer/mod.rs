//! Layers that most applications need: a log, limits on time, number and rate, circuit breakers, retries, idempotency, failures as
//! problems, a filter for secrets, and a change of types.
//!
//! [`Toolset::layer`](crate::Toolset::layer) puts a layer around every tool of a set. The layer that is added last is the
//! outermost. A sensible order, from the inside out:
//!
//! ```
//! # #[cfg(feature = "derive")] {
//! use std::time::Duration;
//! use tool_runtime::{
//!     layer::{CallLog, CircuitBreaker, ConcurrencyLimit, Idempotency, ProblemReports, RateLimit, Retry, SecretFilter, Timeout},
//!     tool, toolset,
//! };
//!
//! /// Adds an entry to the diary.
//! #[tool]
//! fn add(/** Its text. */ text: String) -> String {
//!     format!("added: {text}")
//! }
//!
//! let tools = toolset!(add)
//!     .layer(Timeout::new(Duration::from_secs(10)))       // each attempt
//!     .layer(Retry::new(2))                                 // up to two more attempts
//!     .layer(CircuitBreaker::new(5, Duration::from_secs(30))) // a tool that fails again and again is left alone
//!     .layer(ConcurrencyLimit::new(4))                      // calls at a time, their attempts included
//!     .layer(RateLimit::new(100, Duration::from_secs(60)))  // calls a minute
//!     .layer(Idempotency::new(1_000))                       // repeated calls stop here
//!     .layer(ProblemReports::new())                         // failures look like rejections
//!     .layer(SecretFilter::new(["hunter2"]))                // keeps this text from the layers further out
//!     .layer(CallLog::new(|entry| eprintln!("{entry}")));       // sees everything else
//! # assert_eq!(tools.len(), 1);
//! # }
//! ```
//!
//! Some layers count: [`CircuitBreaker`] counts the failures of each principal by themselves, and the two limits count all calls
//! together. Their methods `for_all`, `by_principal` and `key` set what counts together. A layer of your own does the same with
//! [`ByKey`], whose memory is bounded. In a wait for all, principals take turns.

mod by_key;
mod circuit_breaker;
mod idempotency;
mod limits;
mod log;
mod problem_reports;
mod queue;
mod retry;
mod secrets;
mod type_mapping;

pub use by_key::ByKey;
pub use circuit_breaker::CircuitBreaker;
pub use idempotency::Idempotency;
pub use limits::{ConcurrencyLimit, RateLimit, Timeout};
pub use log::{CallLog, CallRecord};
pub use problem_reports::ProblemReports;
pub use retry::Retry;
pub use secrets::{PatternError, SecretFilter};
pub use type_mapping::TypeMapping;
