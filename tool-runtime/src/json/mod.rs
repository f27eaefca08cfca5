//! JSON text: as it arrives piece by piece ([`Incremental`]), taken apart without building a tree, or read as one with what
//! a tree cannot hold.

mod depth;
mod exact;
mod object;
mod stream;
mod value;
mod written;

pub use depth::is_deeper;
#[cfg(feature = "agent")]
pub(crate) use exact::canonical_text;
pub use exact::{is_echo, same};
pub(crate) use object::Object;
pub use stream::{Change, Incremental, Limits, Malformed, Path, Segment};
pub(crate) use value::{Read, read, segment};
pub(crate) use written::{entries, entry, members, object};

/// Whether `text` has nothing but JSON's white space. Arguments without any text mean `{}`.
pub(crate) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
}
