//! The answers of tools, in their wire format.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value};

use super::report::{RawReport, check_non_empty, write_list, write_rest};
use super::{Choices, Problem, ProblemKind, Reasons, Rejection, Report, quote_name, quote_names, text};
use crate::schema::answer::{Form, RESERVED_KEYS};

/// An answer of a tool: its output, or the reasons why it rejects the call. The key `ok` distinguishes them.
///
/// Reading is strict. It fails on a repeated key, on `null` for an absent list, and on an empty list except `allowedValues`. It
/// fails on a rejection with an unknown key, with both lists of choices, or without a reason. Names and values of parameters
/// are not checked.
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
/// let full = Answer::Rejected((&Rejection::from_message("the flight is full")).into());
/// assert_eq!(serde_json::to_string(&full)?, r#"{"ok":false,"problems":["the flight is full"]}"#);
/// assert!(serde_json::from_str::<Answer>(r#"{"ok":false}"#).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The tool has done its work.
    Done(Success),
    /// The tool has rejected the call.
    Rejected(RejectedAnswer),
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Done(success) => success.serialize(out),
            Self::Rejected(rejected) => rejected.serialize(out),
        }
    }
}

/// The answer of a tool that has done its work: its output, with remarks and instructions.
///
/// Its JSON has `ok`, then the output, `feedback` and `instructions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Success {
    body: Body,
    feedback: Vec<String>,
    instructions: Vec<String>,
}

/// The output of a tool, as its answer contains it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// Nothing.
    #[default]
    Nothing,
    /// The fields of an object, which are beside `ok`.
    Fields(Map<String, Value>),
    /// Another value, under the key `value`.
    Value(Value),
}

/// An error: an output has keys that its answer reserves.
///
/// Rename the output's fields that [`keys`](Self::keys) returns. If the output's type is known,
/// [`collisions`](crate::schema::answer::collisions) finds these fields before the first call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCollision {
    keys: Vec<&'static str>,
}

impl Success {
    /// Creates a success with `output` at the place that `form` determines.
    ///
    /// An output that is not an object cannot be merged, and gets the key `value`. Fails if a merged output has a key of
    /// [`RESERVED_KEYS`].
    pub fn new(output: Value, form: Form) -> Result<Self, KeyCollision> {
        let body = match (form, output) {
            (Form::Nothing, _) => Body::Nothing,
            (Form::Merged, Value::Object(fields)) if fields.is_empty() => Body::Nothing,
            (Form::Merged, Value::Object(fields)) => {
                let keys: Vec<_> = RESERVED_KEYS.into_iter().filter(|key| fields.contains_key(*key)).collect();
                if !keys.is_empty() {
                    return Err(KeyCollision { keys });
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

    /// Adds an instruction for the caller.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// Returns the output of the tool.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Returns the remarks.
    pub fn remarks(&self) -> &[String] {
        &self.feedback
    }

    /// Returns the instructions for the caller.
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
        write_list(&mut map, "feedback", &self.feedback)?;
        write_list(&mut map, "instructions", &self.instructions)?;
        map.end()
    }
}

impl KeyCollision {
    /// Returns the keys of the output that its answer also has.
    pub fn keys(&self) -> &[&'static str] {
        &self.keys
    }
}

impl fmt::Display for KeyCollision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.keys {
            [key] => write!(out, "the output has a field {}, which the answer has too; rename it", quote_name(key)),
            keys => {
                let all = quote_names(keys.iter().copied(), "and");
                write!(out, "the output has fields {all}, which the answer has too; rename them")
            }
        }
    }
}

impl std::error::Error for KeyCollision {}

/// The answer of a tool that rejects a call: the reasons for the call as a whole, and by parameter. If the input is one value
/// instead of an object of parameters, the reasons are about that value.
///
/// A rejected answer is read from JSON, or made from a [`Report`] or a [`Rejection`], which has more details. Its JSON has
/// `ok`, `problems`, `validationResults` or the keys of a report on the value, `feedback` and `instructions`.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedAnswer {
    /// The report on the call as a whole. Without `reports`, it can be about an input that is one value.
    whole: Report,
    /// The reports by parameter, or by the path of a value inside a parameter. Empty only if `whole` is rejected.
    reports: Vec<(String, Report)>,
}

impl RejectedAnswer {
    /// Creates an answer that rejects an input that is one value instead of an object of parameters. `report` has the reasons.
    ///
    /// Returns `None` if `report` accepts the value, or requires a parameter, which such an input does not have.
    pub fn of_value(mut report: Report) -> Option<Self> {
        report.rejected.as_ref().filter(|reasons| reasons.required().is_empty())?;
        if matches!(&report.choices, Choices::Suggested(values) if values.is_empty()) {
            report.choices = Choices::Open;
        }
        Some(Self { whole: report, reports: Vec::new() })
    }

    /// Returns the problems of the call as a whole, or of the value that is its input.
    pub fn problems(&self) -> &[String] {
        self.whole.rejected.as_ref().map_or(&[], Reasons::problems)
    }

    /// Returns the report on each parameter, in the order of the answer.
    pub fn reports(&self) -> &[(String, Report)] {
        &self.reports
    }

    /// Returns the tool's form of the value that is the input, if it differs from the given value.
    pub fn normalized(&self) -> Option<&Value> {
        self.whole.normalized.as_ref()
    }

    /// Returns a narrower JSON Schema for the value that is the input.
    pub fn schema(&self) -> Option<&Value> {
        self.whole.schema.as_ref()
    }

    /// Returns the choices for the value that is the input.
    pub fn choices(&self) -> &Choices {
        &self.whole.choices
    }

    /// Returns the remarks.
    pub fn remarks(&self) -> &[String] {
        &self.whole.feedback
    }

    /// Returns the instructions for the caller.
    pub fn instructions(&self) -> &[String] {
        &self.whole.instructions
    }

    /// Returns the answer as short text: see [`Rejection::to_text`].
    pub fn to_text(&self) -> String {
        text::describe(&self.view())
    }

    fn view(&self) -> View<'_> {
        let reports = self.reports.iter().map(|(name, report)| (name.into(), Cow::Borrowed(report))).collect();
        View { whole: Cow::Borrowed(&self.whole), reports }
    }
}

impl From<&Rejection> for RejectedAnswer {
    fn from(rejection: &Rejection) -> Self {
        let view = View::of(rejection);
        let reports = view.reports.into_iter().map(|(name, report)| (name.into_owned(), report.into_owned()));
        Self { whole: view.whole.into_owned(), reports: reports.collect() }
    }
}

/// A view of an answer that rejects a call, which borrows where it can.
#[derive(Debug)]
pub struct View<'a> {
    pub whole: Cow<'a, Report>,
    pub reports: Vec<(Cow<'a, str>, Cow<'a, Report>)>,
}

impl<'a> View<'a> {
    pub fn of(rejection: &'a Rejection) -> Self {
        let (mut call, mut reports) = (Vec::new(), Vec::<(Cow<'a, str>, Cow<'a, Report>)>::new());
        for problem in rejection.problems() {
            match problem.about() {
                None => call.push(problem.to_string()),
                Some(name) => {
                    // An unknown name is a mistake in the value that has it.
                    let is_inside = problem.is_nested() && problem.kind != ProblemKind::Unknown;
                    let name = if is_inside { problem.dotted_path() } else { name };
                    let at = reports.iter().position(|(known, _)| *known == name).unwrap_or(reports.len());
                    if at == reports.len() {
                        reports.push((name.into(), Cow::Owned(Report::accepted())));
                    }
                    let report = reports[at].1.to_mut();
                    if is_inside { report.add_own(problem) } else { report.add(problem) }
                }
            }
        }
        let read = reports.len();
        reports.reserve(rejection.reports().len());
        for (name, report) in rejection.reports() {
            match reports[..read].iter().position(|(known, _)| known == name) {
                None => reports.push((name.into(), Cow::Borrowed(report))),
                Some(at) => reports[at].1 = Cow::Owned(merge_reports(&reports[at].1, report)),
            }
        }
        if call.is_empty() && reports.is_empty() {
            // A record from another program may have no reason, but an answer needs one.
            call.push(Problem::new("", ProblemKind::Invalid, "arguments that the tool accepts").to_string());
        }
        let whole = Report {
            rejected: Reasons::of(call, Vec::new()),
            feedback: rejection.remarks().to_vec(),
            instructions: rejection.instructions().to_vec(),
            ..Report::accepted()
        };
        Self { whole: Cow::Owned(whole), reports }
    }
}

/// Merges two reports on a parameter: `read`, with the problems from reading the arguments, and then the tool's `own`.
fn merge_reports(read: &Report, own: &Report) -> Report {
    let mut report = own.clone();
    report.rejected = match (read.rejected.clone(), report.rejected) {
        (Some(first), Some(second)) => Some(first.and(second)),
        (first, second) => first.or(second),
    };
    if report.choices == Choices::Open {
        report.choices = read.choices.clone();
    }
    report
}

impl Serialize for RejectedAnswer {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.view().serialize(out)
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        struct Reports<'a>(&'a [(Cow<'a, str>, Cow<'a, Report>)]);

        impl Serialize for Reports<'_> {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_map(self.0.iter().map(|(name, report)| (name, report)))
            }
        }

        let mut map = out.serialize_map(None)?;
        map.serialize_entry("ok", &false)?;
        if let Some(reasons) = &self.whole.rejected {
            write_list(&mut map, "problems", reasons.problems())?;
        }
        if !self.reports.is_empty() {
            map.serialize_entry("validationResults", &Reports(&self.reports))?;
        }
        write_rest(&mut map, &self.whole)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Answer;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the answer of a tool, an object with `ok`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Answer, A::Error> {
                let (mut rest, mut reports) = (Map::new(), None);
                while let Some(key) = entries.next_key::<String>()? {
                    let known = match &*key {
                        "validationResults" => reports.replace(entries.next_value::<Reports>()?).is_some(),
                        _ => rest.insert(key.clone(), entries.next_value()?).is_some(),
                    };
                    if known {
                        return Err(A::Error::custom(format_args!("`{key}` is given twice")));
                    }
                }
                match rest.shift_remove("ok") {
                    Some(Value::Bool(true)) if reports.is_some() => Err(forbidden_key("validationResults")),
                    Some(Value::Bool(true)) => read_success(rest).map(Answer::Done),
                    Some(Value::Bool(false)) => read_rejected(rest, reports).map(Answer::Rejected),
                    _ => Err(A::Error::custom("an answer has an `ok` that is true or false")),
                }
            }
        }

        from.deserialize_map(Entries)
    }
}

fn forbidden_key<E: Error>(key: &str) -> E {
    E::custom(format_args!("a success has no `{key}`"))
}

fn read_success<E: Error>(mut rest: Map<String, Value>) -> Result<Success, E> {
    let feedback = read_texts(&mut rest, "feedback")?;
    let instructions = read_texts(&mut rest, "instructions")?;
    if rest.contains_key("problems") {
        return Err(forbidden_key("problems"));
    }
    let body = match rest.len() {
        0 => Body::Nothing,
        // `value` alone is a wrapped output. Beside other keys, it is a field.
        1 => rest.shift_remove("value").map_or_else(|| Body::Fields(rest), Body::Value),
        _ => Body::Fields(rest),
    };
    Ok(Success { body, feedback, instructions })
}

fn read_texts<E: Error>(rest: &mut Map<String, Value>, key: &str) -> Result<Vec<String>, E> {
    let Some(value) = rest.shift_remove(key) else { return Ok(Vec::new()) };
    let list = Vec::deserialize(value).map_err(|error| E::custom(format_args!("`{key}`: {error}")))?;
    check_non_empty(key, Some(list))
}

fn read_rejected<E: Error>(rest: Map<String, Value>, reports: Option<Reports>) -> Result<RejectedAnswer, E> {
    if reports.is_some() {
        let of_value = ["normalizedValue", "dynamicParameterSchema", "allowedValues", "suggestedValues"];
        if let Some(key) = of_value.into_iter().find(|key| rest.contains_key(*key)) {
            return Err(E::custom(format_args!("`{key}` belongs to a parameter where there are `validationResults`")));
        }
    }
    if let Some(key) = ["valid", "requiresValidParameters"].into_iter().find(|key| rest.contains_key(*key)) {
        return Err(E::unknown_field(key, &["problems", "feedback", "instructions"]));
    }
    let whole = RawReport::deserialize(Value::Object(rest)).map_err(E::custom)?.into_report()?;
    let reports = reports.map(|reports| reports.0).unwrap_or_default();
    if whole.is_valid() && reports.is_empty() {
        return Err(E::custom("a rejection has `problems` or `validationResults`"));
    }
    Ok(RejectedAnswer { whole, reports })
}

/// The reports in `validationResults`: at least one report, and each name only once.
struct Reports(Vec<(String, Report)>);

impl<'de> Deserialize<'de> for Reports {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Reports;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object with a report on each parameter")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Reports, A::Error> {
                let mut names = HashSet::new();
                let mut reports = Vec::new();
                while let Some((name, report)) = entries.next_entry::<String, Report>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("`{name}` is given twice")));
                    }
                    reports.push((name, report));
                }
                if reports.is_empty() {
                    return Err(A::Error::custom("`validationResults` is left out when it is empty"));
                }
                Ok(Reports(reports))
            }
        }

        from.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::{Answer, Body, RejectedAnswer, Success};
    use crate::feedback::{Choices, Problem, ProblemKind, Reasons, Rejection, Report};
    use crate::schema::answer::{Form, RESERVED_KEYS};

    fn texts() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(".{0,6}", 0..3)
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..3).prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    fn choices() -> impl Strategy<Value = Choices> {
        let values = |least: usize| prop::collection::vec(value(), least..3);
        prop_oneof![Just(Choices::Open), values(0).prop_map(Choices::Allowed), values(1).prop_map(Choices::Suggested)]
    }

    fn reasons() -> impl Strategy<Value = Reasons> {
        (texts(), texts(), any::<bool>(), ".{0,6}").prop_map(|(problems, requires, is_problem, first)| {
            let first = if is_problem { Reasons::problem(first) } else { Reasons::requires(first) };
            let all = problems.into_iter().fold(first, Reasons::and_problem);
            requires.into_iter().fold(all, Reasons::and_requires)
        })
    }

    fn report() -> impl Strategy<Value = Report> {
        let some = || prop::option::of(value());
        (prop::option::of(reasons()), some(), some(), choices(), texts(), texts()).prop_map(
            |(rejected, normalized, schema, choices, feedback, instructions)| Report {
                rejected,
                normalized,
                schema,
                choices,
                feedback,
                instructions,
            },
        )
    }

    fn problem() -> impl Strategy<Value = Problem> {
        let kind = prop_oneof![Just(ProblemKind::Message), Just(ProblemKind::Unknown), Just(ProblemKind::WrongType)];
        let path = prop_oneof![Just(String::new()), "/[a-c]", "/[a-c]/[a-c]"];
        (path, kind, ".{0,6}", prop::collection::vec(value(), 0..2))
            .prop_map(|(path, kind, expected, allowed)| Problem::new(path, kind, expected).allowed(allowed))
    }

    fn rejection() -> impl Strategy<Value = Rejection> {
        let reports = prop::collection::vec(("[a-e]", report()), 0..4);
        (prop::collection::vec(problem(), 0..4), reports, texts(), texts()).prop_map(
            |(problems, reports, feedback, instructions)| {
                let read = Rejection::reported(problems, Vec::new());
                let read = reports.into_iter().fold(read, |read, (name, report)| read.report(name, report));
                let read = feedback.into_iter().fold(read, Rejection::remark);
                instructions.into_iter().fold(read, Rejection::instruct)
            },
        )
    }

    fn success() -> impl Strategy<Value = Success> {
        let fields = prop::collection::vec((".{0,4}", value()), 0..4).prop_map(|all| {
            Value::Object(all.into_iter().filter(|(key, _)| !RESERVED_KEYS.contains(&&**key)).collect())
        });
        let output =
            prop_oneof![value().prop_map(|value| (value, Form::Wrapped)), fields.prop_map(|all| (all, Form::Merged))];
        (output, texts(), texts()).prop_map(|((output, form), feedback, instructions)| {
            let done = Success::new(output, form).expect("no key of the answer");
            let done = feedback.into_iter().fold(done, Success::remark);
            instructions.into_iter().fold(done, Success::instruct)
        })
    }

    fn answer() -> impl Strategy<Value = Answer> {
        prop_oneof![
            success().prop_map(Answer::Done),
            rejection().prop_map(|read| Answer::Rejected((&read).into())),
            report().prop_filter_map("a reason of its own", |report| RejectedAnswer::of_value(report)
                .map(Answer::Rejected)),
        ]
    }

    proptest! {
        #[test]
        fn written_answers_are_read(answer in answer()) {
            let text = serde_json::to_string(&answer).unwrap();
            let read: Answer = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
            prop_assert_eq!(&read, &answer);
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
            let tree: Answer = serde_json::from_value(json!(answer)).unwrap();
            prop_assert_eq!(tree, answer);
        }

        #[test]
        fn a_report_that_is_written_is_read(report in report()) {
            let text = serde_json::to_string(&report).unwrap();
            prop_assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        }

        #[test]
        fn a_rejection_is_written_as_its_answer(read in rejection()) {
            let answer = RejectedAnswer::from(&read);
            prop_assert_eq!(json!(answer), read.to_json());
            prop_assert_eq!(serde_json::to_string(&answer).unwrap(), read.to_json_text());
            prop_assert_eq!(answer.to_text(), read.to_text());
            let lines = answer.problems().len() + answer.reports().len();
            let notes = answer.remarks().len() + answer.instructions().len();
            prop_assert_eq!(read.to_text().lines().count(), lines + notes);
        }
    }

    #[track_caller]
    fn assert_rejected(text: &str, because: &str) {
        let error = serde_json::from_str::<Answer>(text).expect_err(text).to_string();
        assert!(error.contains(because), "{text}\n{error}");
    }

    #[test]
    fn invalid_answers_are_rejected() {
        assert_rejected("[]", "an object with `ok`");
        assert_rejected("{}", "`ok` that is true or false");
        assert_rejected(r#"{"ok":"true"}"#, "`ok` that is true or false");
        assert_rejected(r#"{"ok":true,"ok":true}"#, "`ok` is given twice");
        assert_rejected(r#"{"ok":true,"a":1,"a":1}"#, "`a` is given twice");
        assert_rejected(r#"{"ok":true,"problems":["x"]}"#, "a success has no `problems`");
        assert_rejected(
            r#"{"ok":true,"validationResults":{"a":{"valid":true}}}"#,
            "a success has no `validationResults`",
        );
        assert_rejected(r#"{"ok":true,"feedback":[]}"#, "`feedback` is left out when it is empty");
        assert_rejected(r#"{"ok":true,"feedback":null}"#, "`feedback`: invalid type: null");
        assert_rejected(r#"{"ok":true,"instructions":[1]}"#, "`instructions`: invalid type: integer");
        assert_rejected(r#"{"ok":false}"#, "a rejection has");
        assert_rejected(r#"{"ok":false,"feedback":["x"]}"#, "a rejection has");
        assert_rejected(r#"{"ok":false,"problems":[]}"#, "`problems` is left out when it is empty");
        assert_rejected(r#"{"ok":false,"problems":null}"#, "invalid type: null");
        assert_rejected(r#"{"ok":false,"problems":["x"],"value":1}"#, "unknown field `value`");
        assert_rejected(r#"{"ok":false,"problems":["x"],"valid":false}"#, "unknown field `valid`");
        assert_rejected(r#"{"ok":false,"problems":["x"],"requiresValidParameters":["a"]}"#, "unknown field");
        assert_rejected(r#"{"ok":false,"normalizedValue":1}"#, "a rejection has");
        assert_rejected(
            r#"{"ok":false,"problems":["x"],"allowedValues":[1],"suggestedValues":[1]}"#,
            "exclude each other",
        );
        assert_rejected(
            r#"{"ok":false,"problems":["x"],"allowedValues":[],"suggestedValues":[1]}"#,
            "exclude each other",
        );
        assert_rejected(r#"{"ok":false,"validationResults":{}}"#, "`validationResults` is left out when it is empty");
        assert_rejected(r#"{"ok":false,"validationResults":[]}"#, "a report on each parameter");
        let with = |report: &str| format!(r#"{{"ok":false,"problems":["x"],"validationResults":{{"a":{report}}}}}"#);
        assert!(serde_json::from_str::<Answer>(&with(r#"{"valid":true}"#)).is_ok());
        assert_rejected(&with(r#"{"valid":true},"a":{"valid":true}"#), "`a` is given twice");
        assert_rejected(&with(r#"{"valid":true,"valid":true}"#), "duplicate field `valid`");
        assert_rejected(&with("{}"), "missing field `valid`");
        assert_rejected(&with("[true,null,null,1,1,null,null,null,null]"), "an object");
        assert_rejected(&with(r#"{"valid":null}"#), "expected a boolean");
        assert_rejected(&with(r#"{"valid":false}"#), "an invalid parameter has");
        assert_rejected(&with(r#"{"valid":true,"problems":["x"]}"#), "a valid parameter has no");
        assert_rejected(&with(r#"{"valid":true,"problems":null}"#), "invalid type: null");
        assert_rejected(
            &with(r#"{"valid":true,"suggestedValues":[]}"#),
            "`suggestedValues` is left out when it is empty",
        );
        assert_rejected(&with(r#"{"valid":true,"allowedValues":[],"suggestedValues":[1]}"#), "exclude each other");
        assert_rejected(&with(r#"{"valid":true,"other":1}"#), "unknown field `other`");
        let both = r#"{"ok":false,"validationResults":{"a":{"valid":true}},"normalizedValue":1}"#;
        assert_rejected(both, "`normalizedValue` belongs to a parameter");
    }

    #[test]
    fn the_form_determines_the_place_of_the_output() {
        let body = |output: Value, form| Success::new(output, form).map(|done| done.body().clone());
        let fields: Map<String, Value> = [("a".to_owned(), json!(1))].into_iter().collect();
        assert_eq!(body(json!({ "a": 1 }), Form::Merged), Ok(Body::Fields(fields)));
        assert_eq!(body(json!({}), Form::Merged), Ok(Body::Nothing));
        assert_eq!(body(json!(1), Form::Merged), Ok(Body::Value(json!(1))));
        assert_eq!(body(json!({ "ok": 1 }), Form::Wrapped), Ok(Body::Value(json!({ "ok": 1 }))));
        assert_eq!(body(json!(null), Form::Nothing), Ok(Body::Nothing));

        let one = Success::new(json!({ "ok": 1, "a": 1 }), Form::Merged).expect_err("a key of the answer");
        assert_eq!(one.to_string(), "the output has a field `ok`, which the answer has too; rename it");
        let two = Success::new(json!({ "value": 1, "ok": 1 }), Form::Merged).expect_err("keys of the answer");
        assert_eq!(two.to_string(), "the output has fields `ok` and `value`, which the answer has too; rename them");
        assert_eq!(two.keys(), ["ok", "value"]);
    }

    #[test]
    fn others_may_have_a_field_called_value() {
        let text = r#"{"ok":true,"value":20,"unit":"celsius"}"#;
        let read: Answer = serde_json::from_str(text).expect(text);
        let Answer::Done(done) = &read else { panic!("{read:?}") };
        assert!(matches!(done.body(), Body::Fields(fields) if fields.len() == 2));
        assert_eq!(serde_json::to_string(&read).expect("texts"), text);
    }

    #[test]
    fn a_record_without_a_reason_is_still_an_answer() {
        let read: Rejection = serde_json::from_str(r#"{"problems":[]}"#).expect("a record");
        assert!(serde_json::from_str::<Answer>(&read.to_json_text()).is_ok(), "{}", read.to_json());
    }

    #[test]
    fn a_mistake_inside_a_value_has_its_path_as_the_key() {
        let unknown = Problem::new("/stops/0/hous", ProblemKind::Unknown, "`city`, `house`");
        let read = Rejection::new(vec![
            Problem::new("/stops/0/city", ProblemKind::Missing, "a string"),
            Problem::new("/stops/0/a~1b", ProblemKind::NotAllowed, "1").allowed(vec![1.into()]),
            unknown,
            Problem::new("/stops", ProblemKind::WrongLength, "1 item"),
        ]);
        let own = json!({ "valid": false, "problems": ["`stops.0.hous`: unknown name: expected `city`, `house`", "expected 1 item"] });
        assert_eq!(
            read.to_json()["validationResults"],
            json!({
                "stops.0.city": { "valid": false, "problems": ["missing: expected a string"] },
                "stops.0.a/b": { "valid": false, "problems": ["expected 1"], "allowedValues": [1] },
                "stops": own,
            })
        );
    }

    #[test]
    fn a_parameter_has_one_report() {
        let reports = ["first", "last"].map(|text| ("a".to_owned(), Report::rejected(text)));
        let read = Rejection::reported(vec![Problem::new("/a", ProblemKind::Message, "read")], reports.into());
        assert_eq!(read.to_json_text(), read.to_json().to_string());
        let reports = read.reports().map(|(name, report)| (name.to_owned(), report.clone()));
        let read = Rejection::reported(Vec::new(), reports.collect());
        assert_eq!(
            read.to_json_text(),
            r#"{"ok":false,"validationResults":{"a":{"valid":false,"problems":["last"]}}}"#
        );
    }
}
