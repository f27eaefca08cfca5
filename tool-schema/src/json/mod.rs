//! JSON text as it arrives, piece by piece ([`Incremental`]), how deep a text is nested, and texts compared to the last digit.

mod depth;
mod exact;
mod stream;

pub use depth::is_deeper;
pub use exact::{canonical_text, is_echo, same};
pub use stream::{Change, Incremental, Limits, Malformed, Path, Segment};
