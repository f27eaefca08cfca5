//! What is wrong with the arguments of a call, told so that a model, a person or a form can mend it.

mod escape;
mod malformed;
mod problem;
mod rejection;
mod report;
pub mod suggest;
mod text;

pub use escape::{escape, one_line};
pub use malformed::malformed;
pub use problem::{Problem, ProblemKind};
pub use rejection::Rejection;
pub use report::{Choices, Reasons, Report};
pub use text::shorten;
pub(crate) use text::{beginning, excerpt, join, name, names};
