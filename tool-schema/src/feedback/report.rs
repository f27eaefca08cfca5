//! What is said about one parameter of a call.

use serde::{Deserialize, Serialize, Serializer, de::Error as _, ser::SerializeMap as _};
use serde_json::Value;

use super::{Problem, ProblemKind, wire};

/// What is said about one parameter: whether its value is accepted, why not, and what would be.
///
/// Its JSON is that of a `validationResults` entry: `valid`, `problems`, `requiresValidParameters`, `normalizedValue`,
/// `dynamicParameterSchema`, `allowedValues` or `suggestedValues`, `feedback`, `instructions`. What is not said is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Why the value is refused; `None` when it is accepted.
    pub refused: Option<Reasons>,
    /// The value as the tool understands it, where that differs from what was given.
    pub normalized: Option<Value>,
    /// A JSON Schema that is narrower than the declared one, given what is known.
    pub schema: Option<Value>,
    /// Which values there are to choose from.
    pub choices: Choices,
    /// Remarks.
    pub feedback: Vec<String>,
    /// What the caller should do.
    pub instructions: Vec<String>,
}

/// Why a value is refused: at least one problem, or one parameter that must be valid first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasons {
    problems: Vec<String>,
    requires: Vec<String>,
}

impl Reasons {
    /// For a problem.
    pub fn problem(text: impl Into<String>) -> Self {
        Self { problems: vec![text.into()], requires: Vec::new() }
    }

    /// Because the value cannot be judged before the parameter `name` is valid.
    pub fn requires(name: impl Into<String>) -> Self {
        Self { problems: Vec::new(), requires: vec![name.into()] }
    }

    /// Adds a problem.
    pub fn and_problem(mut self, text: impl Into<String>) -> Self {
        self.problems.push(text.into());
        self
    }

    /// Adds a parameter that must be valid first.
    pub fn and_requires(mut self, name: impl Into<String>) -> Self {
        self.requires.push(name.into());
        self
    }

    /// Adds all of `more`.
    pub fn and(mut self, more: Self) -> Self {
        self.problems.extend(more.problems);
        self.requires.extend(more.requires);
        self
    }

    /// What is wrong with the value.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The parameters that must be valid first.
    pub fn required(&self) -> &[String] {
        &self.requires
    }
}

impl<T: Into<String>> From<T> for Reasons {
    fn from(problem: T) -> Self {
        Self::problem(problem)
    }
}

/// Which values there are to choose from.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Choices {
    /// Nothing is said.
    #[default]
    Open,
    /// Only these; none at all if it is empty.
    Allowed(Vec<Value>),
    /// These among others. Empty says nothing.
    Suggested(Vec<Value>),
}

impl Report {
    /// The value is accepted.
    pub const fn accepted() -> Self {
        Self {
            refused: None,
            normalized: None,
            schema: None,
            choices: Choices::Open,
            feedback: Vec::new(),
            instructions: Vec::new(),
        }
    }

    /// The value is refused.
    pub fn refused(reasons: impl Into<Reasons>) -> Self {
        Self { refused: Some(reasons.into()), ..Self::accepted() }
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

    /// Adds a problem of the parameter or inside its value.
    pub fn add(&mut self, problem: &Problem) {
        self.add_below("", problem);
    }

    /// Adds a problem of a parameter of the object at `place`, a JSON Pointer into the arguments.
    pub fn add_below(&mut self, place: &str, problem: &Problem) {
        let is_own = !problem.is_nested() && problem.kind != ProblemKind::Unknown;
        let text = if is_own { problem.sentence() } else { problem.below(place).to_string() };
        self.refused = Some(match self.refused.take() {
            Some(reasons) => reasons.and_problem(text),
            None => text.into(),
        });
        if is_own && !problem.allowed.is_empty() {
            self.choices = Choices::Allowed(problem.allowed.clone());
        }
    }

    /// Makes it the report of a part of the parameter `name`, and so the names in it those of other parts.
    pub fn inside(mut self, name: &str) -> Self {
        for part in self.refused.iter_mut().flat_map(|reasons| &mut reasons.requires) {
            part.insert_str(0, &format!("{name}."));
        }
        self
    }

    /// Whether the value is accepted.
    pub fn is_valid(&self) -> bool {
        self.refused.is_none()
    }
}

impl<R: Into<Reasons>> From<R> for Report {
    fn from(reasons: R) -> Self {
        Self::refused(reasons)
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("valid", &self.is_valid())?;
        if let Some(Reasons { problems, requires }) = &self.refused {
            wire::list(&mut map, "problems", problems)?;
            wire::list(&mut map, "requiresValidParameters", requires)?;
        }
        if let Some(value) = &self.normalized {
            map.serialize_entry("normalizedValue", value)?;
        }
        if let Some(schema) = &self.schema {
            map.serialize_entry("dynamicParameterSchema", schema)?;
        }
        wire::write_choices(&mut map, &self.choices)?;
        wire::list(&mut map, "feedback", &self.feedback)?;
        wire::list(&mut map, "instructions", &self.instructions)?;
        map.end()
    }
}

/// A report as it crosses the wire, before it is known to make sense.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wire {
    valid: bool,
    #[serde(default, deserialize_with = "wire::present")]
    problems: Option<Vec<String>>,
    #[serde(default, deserialize_with = "wire::present")]
    requires_valid_parameters: Option<Vec<String>>,
    #[serde(default, deserialize_with = "wire::present")]
    normalized_value: Option<Value>,
    #[serde(default, deserialize_with = "wire::present")]
    dynamic_parameter_schema: Option<Value>,
    #[serde(default, deserialize_with = "wire::present")]
    allowed_values: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "wire::present")]
    suggested_values: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "wire::present")]
    feedback: Option<Vec<String>>,
    #[serde(default, deserialize_with = "wire::present")]
    instructions: Option<Vec<String>>,
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wire: Wire = wire::object(from)?;
        let problems = wire::filled("problems", wire.problems)?;
        let requires = wire::filled("requiresValidParameters", wire.requires_valid_parameters)?;
        let refused = match (wire.valid, problems.is_empty() && requires.is_empty()) {
            (true, true) => None,
            (false, false) => Some(Reasons { problems, requires }),
            (true, false) => return Err(D::Error::custom("a valid parameter has no `problems`")),
            (false, true) => {
                return Err(D::Error::custom("an invalid parameter has `problems` or `requiresValidParameters`"));
            }
        };
        Ok(Self {
            refused,
            normalized: wire.normalized_value,
            schema: wire.dynamic_parameter_schema,
            choices: wire::choices(wire.allowed_values, wire.suggested_values)?,
            feedback: wire::filled("feedback", wire.feedback)?,
            instructions: wire::filled("instructions", wire.instructions)?,
        })
    }
}
