//! Tests of the agent's loop on the side of the model: its requests, its failures, and the conditions that stop it.

mod composed;
mod failing;
mod history;
mod kit;
mod preparing;
mod provided;
mod resumed_answers;
mod slow;
mod steering;
mod stopping;
mod unreadable;
