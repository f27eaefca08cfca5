//! The model's side of the loop: when it stops, what its requests contain, and what happens when it fails.

mod failing;
mod history;
mod kit;
mod preparing;
mod provided;
mod slow;
mod steering;
mod stopping;
mod typed_answers;
