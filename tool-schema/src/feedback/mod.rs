//! The problems of a call's arguments, for a model, a person or a form that repairs them.

mod answer;
mod malformed;
mod problem;
mod protocol;
mod rejection;
mod report;
pub mod suggest;
mod text;
mod words;

pub use answer::{Answer, Body, Collision, Refusal, Success};
pub use malformed::malformed;
pub use problem::{Problem, ProblemKind};
pub use protocol::PROTOCOL;
pub use rejection::Rejection;
#[doc(hidden)]
pub use report::{Brief, Reports};
pub use report::{Choices, Reasons, Report};
pub(crate) use text::join;
pub use text::{beginning, escape, excerpt, name, names, one_line, shorten};
