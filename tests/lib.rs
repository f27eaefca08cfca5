//! Checks that other packages' tests use.

#![doc(test(attr(deny(warnings), allow(unused))))]

pub mod agreement;
pub mod types;

#[cfg(doctest)]
mod guide;
