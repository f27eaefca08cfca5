//! Reports on the parameters of a call.

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Deref};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeMap,
};
use serde_json::Value;

use super::{Problem, ProblemKind, text::or_no_reason};

/// A report on one parameter: it accepts or rejects the value, with reasons and with values that would be accepted.
///
/// Its JSON is that of a `validationResults` entry: `valid`, `problems`, `requiresValidParameters`, `normalizedValue`,
/// `dynamicParameterSchema`, `allowedValues` or `suggestedValues`, `feedback`, `instructions`. Empty members are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The reasons why the value is rejected; `None` if it is accepted.
    pub rejected: Option<Reasons>,
    /// The tool's form of the value, if it differs from the given value.
    pub normalized: Option<Value>,
    /// A JSON Schema that is narrower than the declared one, given the other parameters.
    pub schema: Option<Value>,
    /// The values to choose from.
    pub choices: Choices,
    /// Remarks.
    pub feedback: Vec<String>,
    /// Instructions for the caller.
    pub instructions: Vec<String>,
}

/// The reasons why a value is rejected: at least one problem, or one parameter that must be valid first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasons {
    problems: Vec<String>,
    requires: Vec<String>,
}

impl Reasons {
    /// Creates the reasons. Returns `None` if there are none.
    pub(super) fn of(problems: Vec<String>, requires: Vec<String>) -> Option<Self> {
        (!problems.is_empty() || !requires.is_empty()).then_some(Self { problems, requires })
    }

    /// Creates reasons from a problem.
    pub fn problem(text: impl Into<String>) -> Self {
        Self { problems: vec![or_no_reason(text.into())], requires: Vec::new() }
    }

    /// Creates reasons for a value that cannot be judged before the parameter `name` is valid.
    pub fn requires(name: impl Into<String>) -> Self {
        Self { problems: Vec::new(), requires: vec![name.into()] }
    }

    /// Adds a problem.
    pub fn and_problem(mut self, text: impl Into<String>) -> Self {
        self.problems.push(or_no_reason(text.into()));
        self
    }

    /// Adds a parameter that must be valid first.
    pub fn and_requires(mut self, name: impl Into<String>) -> Self {
        self.requires.push(name.into());
        self
    }

    /// Adds all reasons of `more`.
    pub fn and(mut self, more: Self) -> Self {
        self.problems.extend(more.problems);
        self.requires.extend(more.requires);
        self
    }

    /// Returns the problems of the value.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns the parameters that must be valid first.
    pub fn required(&self) -> &[String] {
        &self.requires
    }
}

impl<T: Into<String>> From<T> for Reasons {
    fn from(problem: T) -> Self {
        Self::problem(problem)
    }
}

/// The values to choose from.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Choices {
    /// The report names no values.
    #[default]
    Open,
    /// Only these values. If the list is empty, no value is allowed.
    Allowed(Vec<Value>),
    /// These values, among others. An empty list is like [`Choices::Open`].
    Suggested(Vec<Value>),
}

impl Report {
    /// Returns a report that accepts the value.
    pub const fn accepted() -> Self {
        Self {
            rejected: None,
            normalized: None,
            schema: None,
            choices: Choices::Open,
            feedback: Vec::new(),
            instructions: Vec::new(),
        }
    }

    /// Returns a report that rejects the value.
    pub fn rejected(reasons: impl Into<Reasons>) -> Self {
        Self { rejected: Some(reasons.into()), ..Self::accepted() }
    }

    /// Adds a remark.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.feedback.push(text.into());
        self
    }

    /// Adds an instruction for the caller.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// Adds a problem with the parameter's value, or with a part of the value.
    pub fn add(&mut self, problem: &Problem) {
        self.add_below("", problem);
    }

    /// Adds a problem with a member of the object at `place`, a JSON Pointer into the arguments.
    pub fn add_below(&mut self, place: &str, problem: &Problem) {
        if problem.is_nested() || problem.kind == ProblemKind::Unknown {
            self.add_reason(problem.below(place).to_string());
        } else {
            self.add_own(problem);
        }
    }

    /// Adds a problem with the value itself, without the problem's place.
    pub(super) fn add_own(&mut self, problem: &Problem) {
        self.add_reason(problem.sentence());
        if !problem.allowed.is_empty() {
            self.choices = Choices::Allowed(problem.allowed.clone());
        }
    }

    fn add_reason(&mut self, text: String) {
        self.rejected = Some(match self.rejected.take() {
            Some(reasons) => reasons.and_problem(text),
            None => text.into(),
        });
    }

    /// Converts the report for a parameter of the nested input `name`: prefixes the names of required parameters with `name`.
    pub fn inside(mut self, name: &str) -> Self {
        for part in self.rejected.iter_mut().flat_map(|reasons| &mut reasons.requires) {
            part.insert_str(0, &format!("{name}."));
        }
        self
    }

    /// Returns whether the value is accepted.
    pub fn is_valid(&self) -> bool {
        self.rejected.is_none()
    }
}

impl<R: Into<Reasons>> From<R> for Report {
    fn from(reasons: R) -> Self {
        Self::rejected(reasons)
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("valid", &self.is_valid())?;
        if let Some(Reasons { problems, requires }) = &self.rejected {
            write_list(&mut map, "problems", problems)?;
            write_list(&mut map, "requiresValidParameters", requires)?;
        }
        write_rest(&mut map, self)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw: RawReport = deserialize_object(from)?;
        let valid = raw.valid.ok_or_else(|| D::Error::missing_field("valid"))?;
        let report = raw.into_report()?;
        match (valid, report.is_valid()) {
            (true, false) => Err(D::Error::custom("a valid parameter has no `problems`")),
            (false, true) => Err(D::Error::custom("an invalid parameter has `problems` or `requiresValidParameters`")),
            _ => Ok(report),
        }
    }
}

/// The members of a report's JSON, before they are checked. The report is on a parameter or on a whole call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RawReport {
    #[serde(default, deserialize_with = "deserialize_present")]
    pub valid: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_present")]
    problems: Option<Vec<String>>,
    #[serde(default, deserialize_with = "deserialize_present")]
    pub requires_valid_parameters: Option<Vec<String>>,
    #[serde(default, deserialize_with = "deserialize_present")]
    normalized_value: Option<Value>,
    #[serde(default, deserialize_with = "deserialize_present")]
    dynamic_parameter_schema: Option<Value>,
    #[serde(default, deserialize_with = "deserialize_present")]
    allowed_values: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "deserialize_present")]
    suggested_values: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "deserialize_present")]
    feedback: Option<Vec<String>>,
    #[serde(default, deserialize_with = "deserialize_present")]
    instructions: Option<Vec<String>>,
}

impl RawReport {
    /// Returns the report. Ignores `valid`: a report without reasons accepts the value.
    pub fn into_report<E: Error>(self) -> Result<Report, E> {
        let problems = check_non_empty("problems", self.problems)?;
        let requires = check_non_empty("requiresValidParameters", self.requires_valid_parameters)?;
        Ok(Report {
            rejected: Reasons::of(problems, requires),
            normalized: self.normalized_value,
            schema: self.dynamic_parameter_schema,
            choices: read_choices(self.allowed_values, self.suggested_values)?,
            feedback: check_non_empty("feedback", self.feedback)?,
            instructions: check_non_empty("instructions", self.instructions)?,
        })
    }
}

/// Writes a list that is left out when it is empty.
pub fn write_list<M: SerializeMap, T: Serialize>(map: &mut M, key: &str, items: &[T]) -> Result<(), M::Error> {
    if items.is_empty() { Ok(()) } else { map.serialize_entry(key, items) }
}

/// Writes the members of `report` after `valid` and the reasons.
pub fn write_rest<M: SerializeMap>(map: &mut M, report: &Report) -> Result<(), M::Error> {
    if let Some(value) = &report.normalized {
        map.serialize_entry("normalizedValue", value)?;
    }
    if let Some(schema) = &report.schema {
        map.serialize_entry("dynamicParameterSchema", schema)?;
    }
    match &report.choices {
        Choices::Open => {}
        Choices::Allowed(values) => map.serialize_entry("allowedValues", values)?,
        Choices::Suggested(values) => write_list(map, "suggestedValues", values)?,
    }
    write_list(map, "feedback", &report.feedback)?;
    write_list(map, "instructions", &report.instructions)
}

/// Reads a value that is present. `null` is a value, not an absent one.
fn deserialize_present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Reads a struct only from an object. Serde would also read it from a list.
fn deserialize_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(entries))
        }
    }

    from.deserialize_map(Object(PhantomData))
}

/// Returns `list`, or an empty list if it is absent. Fails if `list` is present and empty.
pub fn check_non_empty<T, E: Error>(key: &str, list: Option<Vec<T>>) -> Result<Vec<T>, E> {
    match list {
        Some(list) if list.is_empty() => Err(E::custom(format_args!("`{key}` is left out when it is empty"))),
        list => Ok(list.unwrap_or_default()),
    }
}

/// Returns the choices. Fails if both lists are present, or if `suggested` is empty.
fn read_choices<E: Error>(allowed: Option<Vec<Value>>, suggested: Option<Vec<Value>>) -> Result<Choices, E> {
    match (allowed, suggested) {
        (None, None) => Ok(Choices::Open),
        (Some(allowed), None) => Ok(Choices::Allowed(allowed)),
        (None, suggested) => Ok(Choices::Suggested(check_non_empty("suggestedValues", suggested)?)),
        (Some(_), Some(_)) => Err(E::custom("`allowedValues` and `suggestedValues` exclude each other")),
    }
}

/// Reports on parameters by name, in order.
pub type Reports = Vec<(Cow<'static, str>, CompactReport)>;

/// A report that allocates nothing if it only accepts the value.
#[derive(Clone, Debug, Default)]
pub struct CompactReport(Option<Box<Report>>);

impl CompactReport {
    /// Returns the report, or an accepting one if there is none.
    pub fn of(report: Option<&Report>) -> &Report {
        static SILENT: Report = Report::accepted();
        report.unwrap_or(&SILENT)
    }

    /// Returns the report by value.
    pub fn into_report(self) -> Report {
        self.0.map_or_else(Report::accepted, |report| *report)
    }
}

impl Deref for CompactReport {
    type Target = Report;

    fn deref(&self) -> &Report {
        Self::of(self.0.as_deref())
    }
}

impl From<Report> for CompactReport {
    fn from(report: Report) -> Self {
        Self(Some(report.into()))
    }
}

impl From<Option<Box<Report>>> for CompactReport {
    fn from(report: Option<Box<Report>>) -> Self {
        Self(report)
    }
}

impl PartialEq for CompactReport {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Serialize for CompactReport {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(out)
    }
}

impl<'de> Deserialize<'de> for CompactReport {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Report::deserialize(from).map(Self::from)
    }
}
