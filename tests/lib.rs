//! Schemas of answers, for the vectors and the tests of answers. Also compiles and runs the code of the guide:
//! `cargo test -p tool-tests --doc`.

#![doc(test(attr(deny(warnings), allow(unused))))]

pub mod answer_schema;
#[cfg(doctest)]
mod guide;
