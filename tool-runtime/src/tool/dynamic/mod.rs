//! Parameters that are checked by code of the application while a call is put together: a tool can be called with what is
//! known so far, and answers with what is still needed, what is allowed, and what was corrected.
//!
//! [`engine`] runs the validators of one call, in the order that their dependencies leave; it knows no types. [`read`] and
//! [`start`] bring it together with the parameters of a declared tool.

mod board;
mod call;
mod check;
mod engine;
mod keep;
mod lend;
mod nested;
mod plan;
mod read;
mod said;
mod start;
mod union;
mod validation;

pub use board::{Board, Kept, Settled};
pub(crate) use call::{Call, conclude, remarks};
pub use check::{CheckCall, CheckFuture, CheckSaid, Checked, Checker, Checks};
pub use engine::Asking;
pub(crate) use engine::{Asked, UNCHECKED, ask_all};
pub use keep::{Judged, Keep, Keepable, Keeping, Seen, Whole};
pub use lend::{Lend, One, Wanted};
pub use nested::{DynamicInput, Judging, Lent, whole};
pub use plan::Node;
pub(crate) use plan::Shape;
pub(crate) use read::Reading;
pub use said::{Asks, Said, ToldLater, Validate, Validator};
pub use start::{Known, Raw, Settling, Validators};
pub use union::{Choosing, Chosen, Understood, Variants};
pub use validation::{Choice, IntoValidation, Validation};
