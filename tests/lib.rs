//! Checks that other packages' tests use.

#![doc(test(attr(deny(warnings))))]

pub mod agreement;

#[cfg(doctest)]
mod guide;
