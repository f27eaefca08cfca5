//! Declarations of every shape, in a crate with the lints that the compiler has by itself: each file is a user's.

mod advice;
mod attributes;
mod cfg_parameters;
mod descriptions;
mod dynamic_names;
mod nested_names;
mod other_crate_name;
mod shapes;
mod visibility;
