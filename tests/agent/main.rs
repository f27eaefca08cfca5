//! Agents: the loop on the side of the model and of the tools, layers, hooks, terminals, and the events for observers.

#![allow(
    clippy::float_cmp,
    clippy::many_single_char_names,
    reason = "values come back as they were given, and the parameters of test tools need no names"
)]

mod agent;
mod answer;
mod breaker;
mod duplicates;
mod guards;
mod hooks;
mod idempotency;
mod layers;
mod looping;
mod middleware;
mod odd_models;
mod parameters;
mod scripted;
mod sealed;
mod secrets;
mod streams;
mod terminal;
mod testing;
mod typed;
