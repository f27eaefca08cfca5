//! Parameters that are checked by code of the application while a call is put together: a tool can be called with what is
//! known so far, and answers with what is still needed, what is allowed, and what was corrected.
//!
//! [`engine`] runs the validators of one call, in the order that their dependencies leave; it knows no types. [`read`] and
//! [`start`] bring it together with the parameters of a declared tool.

mod board;
mod call;
mod engine;
mod plan;
mod read;
mod said;
mod start;
mod verdict;

pub use board::{Board, Keep, Keeping, Kept, Settled};
pub(crate) use call::{Call, conclude, remarks};
pub use engine::Asking;
pub(crate) use engine::{Asked, UNCHECKED, ask_all};
pub use plan::Node;
pub(crate) use plan::Shape;
pub(crate) use read::Reading;
pub use said::{Later, Said, Validate, given, validator};
pub use start::{Known, Raw, Validators, settle};
pub use verdict::{IntoVerdict, Verdict};

#[cfg(test)]
mod tests;
