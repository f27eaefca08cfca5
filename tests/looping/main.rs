//! The loop on the model's side: when it stops, what a model is asked with, and what happens when it fails.

#![allow(deprecated, reason = "the parameters of test tools need no descriptions")]

mod failing;
mod history;
mod kit;
mod preparing;
mod provided;
mod slow;
mod steering;
mod stopping;
mod typed;
