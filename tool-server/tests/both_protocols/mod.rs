//! Tests of the rules that hold for both protocols of frontends.

mod answers_again;
mod any_value;
mod applications;
mod attachments;
mod blocked;
mod callers;
mod cancelled;
mod crash;
mod deciders;
mod deep_json;
mod duplicates;
mod fairness;
mod forms;
mod nested_calls;
mod proxies;
mod repeated;
mod secrets;
mod shared_store;
mod silent_store;
mod teams;
mod unstored;
mod visibility;
