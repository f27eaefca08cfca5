//! JSON text as it arrives, piece by piece ([`Incremental`]), how deep a text is nested, and texts compared to the last
//! digit.

mod exact;
mod stream;
#[doc(hidden)]
pub mod text;

pub(crate) use exact::decimal;
pub use exact::{canonical_text, is_echo, same};
pub use stream::{Change, Incremental, Malformed, Path, Segment};
pub(crate) use text::Nesting;
pub use text::is_deeper;
