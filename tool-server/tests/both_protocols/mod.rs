//! The rules that hold for both protocols of frontends.

mod crash;
mod deep_json;
mod duplicates;
mod fairness;
mod shared_store;
mod nested_calls;
mod visibility;
