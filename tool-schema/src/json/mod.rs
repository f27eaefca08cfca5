//! JSON texts: incremental reading piece by piece ([`Incremental`]), the depth of nesting, and comparison to the last digit.

mod exact;
mod stream;
#[doc(hidden)]
pub mod text;

pub(crate) use exact::split_decimal;
pub use exact::{canonical_text, is_echo, is_same_value};
pub use stream::{Change, Incremental, Malformed, Path, Segment};
pub(crate) use text::Nesting;
pub use text::is_deeper;
