//! What is wrong with the arguments of a call, told so that a model, a person or a form can mend it.

mod answer;
mod brief;
mod escape;
mod malformed;
mod problem;
mod protocol;
mod rejection;
mod report;
pub mod suggest;
mod text;
mod wire;
mod words;

pub use answer::{Answer, Body, Collision, Refusal, Success};
#[doc(hidden)]
pub use brief::{Brief, Reports};
pub use escape::{escape, one_line};
pub use malformed::malformed;
pub use problem::{Problem, ProblemKind};
pub use protocol::PROTOCOL;
pub use rejection::Rejection;
pub use report::{Choices, Reasons, Report};
pub(crate) use text::join;
pub use text::{beginning, excerpt, name, names, shorten};
