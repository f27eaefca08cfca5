//! Compiles and runs the code of the guide: `cargo test -p tool-tests --doc`.

#![doc(test(attr(deny(warnings), allow(unused))))]

#[cfg(doctest)]
mod guide;
