//! JSON texts: reading of texts that arrive in pieces ([`IncrementalJson`]), the depth of nesting, and exact comparison of
//! numbers.

mod canonical;
mod stream;
#[doc(hidden)]
pub mod text;

pub(crate) use canonical::split_decimal;
pub use canonical::{canonical_text, is_echo, is_same_value};
pub use stream::{IncrementalJson, Path, Segment, SyntaxError, ValueChange};
pub(crate) use text::Nesting;
pub use text::exceeds_depth;
