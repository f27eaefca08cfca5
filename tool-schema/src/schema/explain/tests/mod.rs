//! What is said about each kind of mistake.

mod alternatives;
mod parts;
mod values;

use serde_json::{Value, json};

use crate::feedback::{Problem, ProblemKind};
use crate::schema::Validator;

fn problems(schema: &Value, value: &Value) -> Vec<Problem> {
    Validator::compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}")).problems(value, "")
}

/// The problems of one parameter `p` with `schema`, as sentences.
#[track_caller]
fn says(schema: impl Into<Value>, value: impl Into<Value>, expected: &[&str]) {
    let (schema, value) = (json!({ "properties": { "p": schema.into() } }), json!({ "p": value.into() }));
    let told: Vec<String> = problems(&schema, &value).iter().map(ToString::to_string).collect();
    assert_eq!(told, expected, "{schema}");
}

#[track_caller]
fn kind(schema: impl Into<Value>, value: impl Into<Value>, kind: ProblemKind) {
    let found = problems(&schema.into(), &value.into());
    assert_eq!(found.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [kind], "{found:?}");
}
