//! What a tool answers, as it crosses the wire.

mod read;
mod refusal;
mod success;
#[cfg(test)]
mod tests;

use serde::{Serialize, Serializer};

pub use refusal::Refusal;
pub(super) use refusal::View;
pub use success::{Body, Collision, Success};

/// What a tool answers: what it gave, or why the call was refused. The two are told apart by `ok`.
///
/// Reading is strict: an empty list, `null` for what is not there, an unknown key, a key given twice, both lists of choices,
/// or a refusal without a reason are errors. Which parameters there are, and what values they take, only a schema knows:
/// [`schema::answer::of`](crate::schema::answer::of) makes it.
///
/// ```
/// use serde_json::json;
/// use tool_schema::{feedback::{Rejection, Answer, Success}, schema::answer::Form};
///
/// let booked = Success::new(json!({ "id": "AB12" }), Form::Merged)?.remark("Booked.");
/// let text = r#"{"ok":true,"id":"AB12","feedback":["Booked."]}"#;
/// assert_eq!(serde_json::to_string(&Answer::Done(booked.clone()))?, text);
/// assert_eq!(serde_json::from_str::<Answer>(text)?, Answer::Done(booked));
///
/// let full = Answer::Refused((&Rejection::told("the flight is full")).into());
/// assert_eq!(serde_json::to_string(&full)?, r#"{"ok":false,"problems":["the flight is full"]}"#);
/// assert!(serde_json::from_str::<Answer>(r#"{"ok":false}"#).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The tool did what was asked.
    Done(Success),
    /// The call was refused.
    Refused(Refusal),
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Done(success) => success.serialize(out),
            Self::Refused(refusal) => refusal.serialize(out),
        }
    }
}
