//! The answer to a call that did what was asked.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

use crate::feedback::{name, names, wire};
use crate::schema::answer::{Form, RESERVED};

/// The answer to a call that did what was asked: what the tool gave, and what it says about that.
///
/// Its JSON has `ok`, then the output, `feedback` and `instructions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Success {
    pub(super) body: Body,
    pub(super) feedback: Vec<String>,
    pub(super) instructions: Vec<String>,
}

/// What a tool gave, as it stands in its answer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// Nothing.
    #[default]
    Nothing,
    /// The fields of an object, beside `ok`.
    Fields(Map<String, Value>),
    /// Something else, below `value`.
    Value(Value),
}

/// An output has keys that its answer has too: one could not be told from the other.
///
/// Rename the fields that it [names](Self::keys). Where the output's type is known,
/// [`collisions`](crate::schema::answer::collisions) finds them before anything is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    keys: Vec<&'static str>,
}

impl Success {
    /// A success with `output`, which stands where `form` says.
    ///
    /// What is to be merged and is no object stands below `value`. Fails when a key of the output is one of
    /// [`RESERVED`].
    pub fn new(output: Value, form: Form) -> Result<Self, Collision> {
        let body = match (form, output) {
            (Form::Nothing, _) => Body::Nothing,
            (Form::Merged, Value::Object(fields)) if fields.is_empty() => Body::Nothing,
            (Form::Merged, Value::Object(fields)) => {
                let keys: Vec<_> = RESERVED.into_iter().filter(|key| fields.contains_key(*key)).collect();
                if !keys.is_empty() {
                    return Err(Collision { keys });
                }
                Body::Fields(fields)
            }
            (_, value) => Body::Value(value),
        };
        Ok(Self { body, feedback: Vec::new(), instructions: Vec::new() })
    }

    /// Adds a remark.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.feedback.push(text.into());
        self
    }

    /// Adds what the caller should do.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// What the tool gave.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Remarks.
    pub fn feedback(&self) -> &[String] {
        &self.feedback
    }

    /// What the caller should do.
    pub fn instructions(&self) -> &[String] {
        &self.instructions
    }
}

impl Serialize for Success {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("ok", &true)?;
        match &self.body {
            Body::Nothing => {}
            Body::Fields(fields) => fields.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?,
            Body::Value(value) => map.serialize_entry("value", value)?,
        }
        wire::list(&mut map, "feedback", &self.feedback)?;
        wire::list(&mut map, "instructions", &self.instructions)?;
        map.end()
    }
}

impl Collision {
    /// The keys.
    pub fn keys(&self) -> &[&'static str] {
        &self.keys
    }
}

impl fmt::Display for Collision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.keys {
            [key] => write!(out, "the output has a field {}, which the answer has too; rename it", name(key)),
            keys => {
                let all = names(keys.iter().copied(), "and");
                write!(out, "the output has fields {all}, which the answer has too; rename them")
            }
        }
    }
}

impl std::error::Error for Collision {}
