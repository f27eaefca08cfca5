//! JSON text that is taken apart without building a tree, or read as one with what a tree cannot hold.

mod object;
mod value;
mod written;

pub(crate) use object::Object;
pub(crate) use value::{Read, read};
pub(crate) use written::{entries, entry, members, object};

/// Returns `true` for a text of JSON's white space only. Arguments without any text mean `{}`.
pub(crate) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
}
