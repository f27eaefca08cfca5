//! What is said about one parameter of a call.

use serde::{Deserialize, Serialize, Serializer, de::Error as _, ser::SerializeMap as _};
use serde_json::Value;

use super::{Problem, ProblemKind};

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
    pub fn accepted() -> Self {
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

    /// Adds a problem of the parameter or inside its value.
    pub(crate) fn add(&mut self, problem: &Problem) {
        let is_own = !problem.is_nested() && problem.kind != ProblemKind::Unknown;
        let text = if is_own { problem.sentence() } else { problem.to_string() };
        self.refused = Some(match self.refused.take() {
            Some(reasons) => reasons.and_problem(text),
            None => text.into(),
        });
        if is_own && !problem.allowed.is_empty() {
            self.choices = Choices::Allowed(problem.allowed.clone());
        }
    }

    /// Whether the value is accepted.
    pub fn is_valid(&self) -> bool {
        self.refused.is_none()
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("valid", &self.is_valid())?;
        if let Some(Reasons { problems, requires }) = &self.refused {
            list(&mut map, "problems", problems)?;
            list(&mut map, "requiresValidParameters", requires)?;
        }
        if let Some(value) = &self.normalized {
            map.serialize_entry("normalizedValue", value)?;
        }
        if let Some(schema) = &self.schema {
            map.serialize_entry("dynamicParameterSchema", schema)?;
        }
        match &self.choices {
            Choices::Open => {}
            Choices::Allowed(values) => map.serialize_entry("allowedValues", values)?,
            Choices::Suggested(values) => list(&mut map, "suggestedValues", values)?,
        }
        list(&mut map, "feedback", &self.feedback)?;
        list(&mut map, "instructions", &self.instructions)?;
        map.end()
    }
}

/// Writes a list that is left out when it is empty.
fn list<M: serde::ser::SerializeMap, T: Serialize>(map: &mut M, key: &str, items: &[T]) -> Result<(), M::Error> {
    if items.is_empty() { Ok(()) } else { map.serialize_entry(key, items) }
}

/// A report as it crosses the wire, before it is known to make sense.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wire {
    valid: bool,
    problems: Option<Vec<String>>,
    requires_valid_parameters: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    normalized_value: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    dynamic_parameter_schema: Option<Value>,
    allowed_values: Option<Vec<Value>>,
    suggested_values: Option<Vec<Value>>,
    feedback: Option<Vec<String>>,
    instructions: Option<Vec<String>>,
}

/// A value that is there, `null` included.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// A list that is not empty where it is there.
pub(super) fn filled<T, E: serde::de::Error>(key: &str, list: Option<Vec<T>>) -> Result<Vec<T>, E> {
    match list {
        Some(list) if list.is_empty() => Err(E::custom(format!("`{key}` is left out when it is empty"))),
        list => Ok(list.unwrap_or_default()),
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(from)?;
        let problems = filled("problems", wire.problems)?;
        let requires = filled("requiresValidParameters", wire.requires_valid_parameters)?;
        let refused = match (wire.valid, problems.is_empty() && requires.is_empty()) {
            (true, true) => None,
            (false, false) => Some(Reasons { problems, requires }),
            (true, false) => return Err(D::Error::custom("a valid parameter has no `problems`")),
            (false, true) => {
                return Err(D::Error::custom("an invalid parameter has `problems` or `requiresValidParameters`"));
            }
        };
        let choices = match (wire.allowed_values, filled("suggestedValues", wire.suggested_values)?) {
            (None, suggested) if suggested.is_empty() => Choices::Open,
            (None, suggested) => Choices::Suggested(suggested),
            (Some(allowed), suggested) if suggested.is_empty() => Choices::Allowed(allowed),
            _ => return Err(D::Error::custom("`allowedValues` and `suggestedValues` exclude each other")),
        };
        Ok(Self {
            refused,
            normalized: wire.normalized_value,
            schema: wire.dynamic_parameter_schema,
            choices,
            feedback: filled("feedback", wire.feedback)?,
            instructions: filled("instructions", wire.instructions)?,
        })
    }
}
