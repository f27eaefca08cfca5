//! The pages of the guide, whose code is compiled and run: `cargo test -p tool-tests --doc`.

#![doc(test(attr(deny(warnings), allow(unused))))]

#[cfg(doctest)]
mod guide;
