//! Spans and events after OpenTelemetry's conventions for generative AI, with the feature `tracing`; nothing without.
//!
//! The driver's own future is in the span of the run, a turn's stream in that of the turn, and a call's task in that of the
//! call, so whatever they do is below them. Where nobody subscribes, each costs a look at a flag.

#[cfg(feature = "tracing")]
mod call;
#[cfg(feature = "tracing")]
mod chat;
#[cfg(feature = "tracing")]
mod content;
#[cfg(feature = "tracing")]
mod metrics;
#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(feature = "tracing")]
pub use {
    chat::chat,
    on::{Trace, carried, spawn, within},
};

#[cfg(not(feature = "tracing"))]
pub use off::{Trace, carried, chat, spawn, within};
