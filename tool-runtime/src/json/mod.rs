//! JSON text, taken apart without building a tree.

mod object;

pub(crate) use object::Object;
