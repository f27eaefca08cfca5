//! Dynamic parameters: validators of the application check them while a call is put together. A model can call a tool with what
//! it knows so far. The answer says what is still needed, what is allowed, and what was corrected.
//!
//! [`engine`] runs the validators of one call in the order of their dependencies; it knows no types. [`validator`] calls the
//! functions of users, and [`start`] combines both with the parameters of a declared tool.

mod engine;
mod nested;
mod start;
mod validator;
mod values;

pub use engine::{Asking, Node};
pub(crate) use engine::{Call, Shape, UNCHECKED, conclude, panic_text};
pub use nested::{DynamicInput, Judging, Lend, Lent, One, Wanted, whole};
pub(crate) use start::ReadProblems;
pub use start::{Choosing, Chosen, Known, Raw, Settling, Understood, Validators, Variants};
pub use validator::{
    Asks, CheckCall, CheckFuture, CheckReturned, Checked, Checker, Checks, Choice, IntoValidation, LaterValidation,
    Validate, Validation, Validator, ValidatorReturned,
};
pub use values::{Board, Judged, Keep, Keepable, Keeping, Seen, Settled, StoredValue, Whole};
