//! The loop on the model's side: when it stops, what a model is asked with, and what happens when it fails.

mod failing;
mod history;
mod kit;
mod preparing;
mod provided;
mod slow;
mod steering;
mod stopping;
mod typed;
