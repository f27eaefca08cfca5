//! Checks that other packages' tests use.

pub mod agreement;
pub mod types;
