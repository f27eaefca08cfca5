//! What a validator says about the value of a parameter.

use std::borrow::Borrow;

use serde::Serialize;
use serde_json::Value;

use crate::feedback::{Choices, Reasons, Report};
use crate::tool::Failure;

/// What a validator says about the value of a parameter: accepted, as the value that the tool gets, or refused with
/// reasons; and in both cases what there is to choose from, remarks and instructions.
///
/// A value that is accepted otherwise than it was given is a normalised one: the caller is told. Nothing needs to have been
/// given: accepting then gives a default.
///
/// ```
/// use tool_runtime::Validation;
///
/// fn airport(value: Option<String>) -> Validation<String> {
///     let known = ["Berlin", "Paris"].map(str::to_owned);
///     let near = value.and_then(|name| known.iter().find(|known| known.eq_ignore_ascii_case(&name)).cloned());
///     match near {
///         Some(name) => Validation::accept(name),
///         None => Validation::reject("no flights from there").allowed(&known),
///     }
/// }
/// assert!(airport(Some("berlin".into())).is_accepted());
/// assert!(!airport(Some("Rome".into())).is_accepted());
/// ```
#[derive(Clone, Debug)]
#[must_use = "it is what the validator says"]
pub struct Validation<T> {
    outcome: Outcome<T>,
    /// What is told. Most values are accepted without a word.
    report: Option<Box<Report>>,
}

#[derive(Clone, Debug)]
enum Outcome<T> {
    Accepted(T),
    Refused { understood: Option<T> },
}

impl<T> Validation<T> {
    /// The value is accepted, and `value` is what the tool gets.
    pub fn accept(value: T) -> Self {
        Self { outcome: Outcome::Accepted(value), report: None }
    }

    /// The value is refused, or there is none: for a problem in plain words, or for [`Reasons`].
    pub fn reject(reasons: impl Into<Reasons>) -> Self {
        Self { outcome: Outcome::Refused { understood: None }, report: Some(Report::refused(reasons).into()) }
    }

    fn report(&mut self) -> &mut Report {
        self.report.get_or_insert_with(|| Report::accepted().into())
    }

    /// Whether the value is accepted.
    pub fn is_accepted(&self) -> bool {
        matches!(self.outcome, Outcome::Accepted(_))
    }

    /// Says how a refused value was understood. It changes nothing about a value that is accepted.
    pub fn understood(mut self, value: T) -> Self {
        if let Outcome::Refused { understood } = &mut self.outcome {
            *understood = Some(value);
        }
        self
    }

    /// Says which values are allowed, and no others; none at all if it is empty. Takes the place of what was suggested.
    pub fn allowed(mut self, values: impl IntoIterator<Item: Choice<T>>) -> Self
    where
        T: Serialize,
    {
        self.report().choices = Choices::Allowed(json(values));
        self
    }

    /// Suggests some of the values that are allowed; if there are any. Takes the place of what was allowed.
    pub fn suggested(mut self, values: impl IntoIterator<Item: Choice<T>>) -> Self
    where
        T: Serialize,
    {
        let values: Vec<Value> = json(values);
        self.report().choices = if values.is_empty() { Choices::Open } else { Choices::Suggested(values) };
        self
    }

    /// Gives a JSON Schema that is narrower than the declared one, such as a range that depends on other parameters.
    pub fn narrowed(mut self, schema: Value) -> Self {
        self.report().schema = Some(schema);
        self
    }

    /// Adds a remark.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.report().feedback.push(text.into());
        self
    }

    /// Adds what the caller should do.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.report().instructions.push(text.into());
        self
    }

    /// The accepted value if there is one, and what is told; `write` writes a value as JSON.
    pub(crate) fn into_parts(mut self, write: impl FnOnce(&T) -> Option<Value>) -> (Option<T>, Option<Box<Report>>) {
        let value = match self.outcome {
            Outcome::Accepted(value) => Some(value),
            Outcome::Refused { understood } => {
                if let Some(report) = &mut self.report {
                    report.normalized = understood.as_ref().and_then(write);
                }
                None
            }
        };
        (value, self.report)
    }
}

/// A value that a parameter of type `T` can have, or a reference to one: what [`Validation::allowed`] takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of this parameter, which is a `{T}`",
    label = "not a `{T}`, and no reference to one",
    note = "give values of the parameter's type, or references to some: texts for a `String` with `.map(String::from)`"
)]
pub trait Choice<T>: Borrow<T> {}

#[diagnostic::do_not_recommend]
impl<T, V: Borrow<T>> Choice<T> for V {}

fn json<T: Serialize>(values: impl IntoIterator<Item: Borrow<T>>) -> Vec<Value> {
    values.into_iter().filter_map(|value| serde_json::to_value(value.borrow()).ok()).collect()
}

/// What a validator of a `T` may return: a [`Validation`], or a `Result` of one with a [`Failure`], which any error becomes
/// with `?`. A failure refuses the value; the model is told no more of it than [`Failure::new`] says.
#[diagnostic::on_unimplemented(
    message = "a validator of a parameter of type `{T}` cannot return `{Self}`",
    label = "not a `Validation<{T}>`",
    note = "return `Validation<{T}>` or `Result<Validation<{T}>, Failure>`, from a `fn` or an `async fn`"
)]
pub trait IntoValidation<T> {
    /// What the validator says, or how it failed.
    fn into_verdict(self) -> Result<Validation<T>, Failure>;
}

impl<T> IntoValidation<T> for Validation<T> {
    fn into_verdict(self) -> Result<Self, Failure> {
        Ok(self)
    }
}

impl<T> IntoValidation<T> for Result<Validation<T>, Failure> {
    fn into_verdict(self) -> Self {
        self
    }
}
