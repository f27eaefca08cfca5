//! Declarations of every shape in a crate with the compiler's default lints. Each file is a user's.

mod advice;
mod attributes;
mod cfg_parameters;
mod descriptions;
mod dynamic_names;
mod entries;
mod nested_names;
mod other_crate_name;
mod shapes;
mod visibility;
