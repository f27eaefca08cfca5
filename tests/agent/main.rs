//! Tests of agents: the loop on the side of the model and of the tools, layers, hooks, terminals, and the events for observers.

#![allow(
    clippy::float_cmp,
    clippy::many_single_char_names,
    reason = "values return unchanged, and the parameters of test tools need no names"
)]

mod asks;
mod blocking_calls;
mod branches;
mod breaker;
mod budgets;
mod caller_secrets;
mod callers;
mod compaction;
mod duplicates;
mod every_tool;
mod fail_closed;
mod guards;
mod hooks;
mod idempotency;
mod layer_chains;
mod layer_keys;
mod layer_parameters;
mod layers;
mod model;
mod new_runs;
mod odd_models;
mod partial_answers;
mod problem_reports;
mod run_loop;
mod run_streams;
mod scripted;
mod secrets;
mod starts;
mod streams;
mod structured_answers;
mod teams;
mod terminal;
mod testing;
mod typed_answers;
mod typed_layers;
