//! Code that several examples of this package share. `example-shared` has the code that another package needs, too.

pub mod workspace;

pub use example_shared::{
    hosts,
    model::{model, model_or, named_model},
};
