//! Answers that are written are read, and what the wire forbids is refused.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Answer, Body, Refusal, Success};
use crate::feedback::{Choices, Problem, ProblemKind, Reasons, Rejection, Report};
use crate::schema::answer::{Form, RESERVED};

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
        |(refused, normalized, schema, choices, feedback, instructions)| Report {
            refused,
            normalized,
            schema,
            choices,
            feedback,
            instructions,
        },
    )
}

fn problem() -> impl Strategy<Value = Problem> {
    let kind = prop_oneof![Just(ProblemKind::Told), Just(ProblemKind::Unknown), Just(ProblemKind::WrongType)];
    let path = prop_oneof![Just(String::new()), "/[a-c]", "/[a-c]/[a-c]"];
    (path, kind, ".{0,6}", prop::collection::vec(value(), 0..2))
        .prop_map(|(path, kind, expected, allowed)| Problem::new(path, kind, expected).allowed(allowed))
}

fn rejection() -> impl Strategy<Value = Rejection> {
    let reports = prop::collection::vec(("[a-e]", report()), 0..4);
    (prop::collection::vec(problem(), 0..4), reports, texts(), texts()).prop_map(
        |(problems, reports, feedback, instructions)| {
            let told = Rejection::reported(problems, Vec::new());
            let told = reports.into_iter().fold(told, |told, (name, report)| told.field(name, report));
            let told = feedback.into_iter().fold(told, Rejection::remark);
            instructions.into_iter().fold(told, Rejection::instruct)
        },
    )
}

fn success() -> impl Strategy<Value = Success> {
    let fields = prop::collection::vec((".{0,4}", value()), 0..4)
        .prop_map(|all| Value::Object(all.into_iter().filter(|(key, _)| !RESERVED.contains(&&**key)).collect()));
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
        rejection().prop_map(|told| Answer::Refused((&told).into())),
        report().prop_filter_map("a reason of its own", |report| Refusal::of_value(report).map(Answer::Refused)),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(answer in answer()) {
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
    fn a_rejection_is_written_as_its_refusal(told in rejection()) {
        let refusal = Refusal::from(&told);
        prop_assert_eq!(json!(refusal), told.to_json());
        prop_assert_eq!(serde_json::to_string(&refusal).unwrap(), told.to_json_text());
        prop_assert_eq!(refusal.to_text(), told.to_text());
        let lines = usize::from(!refusal.problems().is_empty()) + refusal.reports().len();
        let notes = refusal.feedback().len() + refusal.instructions().len();
        prop_assert_eq!(told.to_text().lines().count(), lines + notes);
    }
}

#[track_caller]
fn refused(text: &str, because: &str) {
    let error = serde_json::from_str::<Answer>(text).expect_err(text).to_string();
    assert!(error.contains(because), "{text}\n{error}");
}

#[test]
fn what_the_wire_forbids_is_refused() {
    refused("[]", "an object with `ok`");
    refused("{}", "`ok` that is true or false");
    refused(r#"{"ok":"true"}"#, "`ok` that is true or false");
    refused(r#"{"ok":true,"ok":true}"#, "`ok` is given twice");
    refused(r#"{"ok":true,"a":1,"a":1}"#, "`a` is given twice");
    refused(r#"{"ok":true,"problems":["x"]}"#, "a success has no `problems`");
    refused(r#"{"ok":true,"validationResults":{"a":{"valid":true}}}"#, "a success has no `validationResults`");
    refused(r#"{"ok":true,"feedback":[]}"#, "`feedback` is left out when it is empty");
    refused(r#"{"ok":true,"feedback":null}"#, "`feedback`: invalid type: null");
    refused(r#"{"ok":true,"instructions":[1]}"#, "`instructions`: invalid type: integer");
    refused(r#"{"ok":false}"#, "a refusal has");
    refused(r#"{"ok":false,"feedback":["x"]}"#, "a refusal has");
    refused(r#"{"ok":false,"problems":[]}"#, "`problems` is left out when it is empty");
    refused(r#"{"ok":false,"problems":null}"#, "invalid type: null");
    refused(r#"{"ok":false,"problems":["x"],"value":1}"#, "unknown field `value`");
    refused(r#"{"ok":false,"problems":["x"],"valid":false}"#, "unknown field `valid`");
    refused(r#"{"ok":false,"problems":["x"],"requiresValidParameters":["a"]}"#, "unknown field");
    refused(r#"{"ok":false,"normalizedValue":1}"#, "a refusal has");
    refused(r#"{"ok":false,"problems":["x"],"allowedValues":[1],"suggestedValues":[1]}"#, "exclude each other");
    refused(r#"{"ok":false,"problems":["x"],"allowedValues":[],"suggestedValues":[1]}"#, "exclude each other");
    refused(r#"{"ok":false,"validationResults":{}}"#, "`validationResults` is left out when it is empty");
    refused(r#"{"ok":false,"validationResults":[]}"#, "what is said of each parameter");
    let with = |report: &str| format!(r#"{{"ok":false,"problems":["x"],"validationResults":{{"a":{report}}}}}"#);
    assert!(serde_json::from_str::<Answer>(&with(r#"{"valid":true}"#)).is_ok());
    refused(&with(r#"{"valid":true},"a":{"valid":true}"#), "`a` is given twice");
    refused(&with(r#"{"valid":true,"valid":true}"#), "duplicate field `valid`");
    refused(&with("{}"), "missing field `valid`");
    refused(&with("[true,null,null,1,1,null,null,null,null]"), "an object");
    refused(&with(r#"{"valid":null}"#), "expected a boolean");
    refused(&with(r#"{"valid":false}"#), "an invalid parameter has");
    refused(&with(r#"{"valid":true,"problems":["x"]}"#), "a valid parameter has no");
    refused(&with(r#"{"valid":true,"problems":null}"#), "invalid type: null");
    refused(&with(r#"{"valid":true,"suggestedValues":[]}"#), "`suggestedValues` is left out when it is empty");
    refused(&with(r#"{"valid":true,"allowedValues":[],"suggestedValues":[1]}"#), "exclude each other");
    refused(&with(r#"{"valid":true,"other":1}"#), "unknown field `other`");
    let both = r#"{"ok":false,"validationResults":{"a":{"valid":true}},"normalizedValue":1}"#;
    refused(both, "`normalizedValue` belongs to a parameter");
}

#[test]
fn outputs_stand_where_their_form_says() {
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
fn a_record_without_a_reason_is_still_a_refusal() {
    let told: Rejection = serde_json::from_str(r#"{"problems":[]}"#).expect("a record");
    assert!(serde_json::from_str::<Answer>(&told.to_json_text()).is_ok(), "{}", told.to_json());
}

#[test]
fn a_parameter_is_told_of_once() {
    let reports = ["first", "last"].map(|text| ("a".to_owned(), Report::refused(text)));
    let told = Rejection::reported(vec![Problem::new("/a", ProblemKind::Told, "read")], reports.into());
    assert_eq!(told.to_json_text(), told.to_json().to_string());
    let reports = told.reports().map(|(name, report)| (name.to_owned(), report.clone()));
    let read = Rejection::reported(Vec::new(), reports.collect());
    assert_eq!(read.to_json_text(), r#"{"ok":false,"validationResults":{"a":{"valid":false,"problems":["last"]}}}"#);
}
