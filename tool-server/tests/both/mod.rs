//! The rules that hold for both protocols of frontends.

mod crash;
mod duplicates;
mod fairness;
mod fleet;
mod nested_calls;
mod nesting;
mod visibility;
