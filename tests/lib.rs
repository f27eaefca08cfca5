//! Checks that other packages' tests use.

pub mod agreement;

#[cfg(doctest)]
mod guide;
