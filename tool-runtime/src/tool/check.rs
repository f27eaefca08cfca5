//! Checks of values against compiled schemas.

use schemars::SchemaGenerator;
use serde_json::Value;

use super::{schemas::describe_external_output, type_error};
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::schema::{CompiledSchema, Schema};
use tool_schema::feedback;
use tool_schema::json::text::{self, ReadValue};

/// Checks arguments that could be read against their schema: their types may accept more.
pub fn check(guard: &CompiledSchema, text: &str) -> Result<(), Rejection> {
    let text = if text::is_blank(text) { "{}" } else { text };
    read_valid(text, Some(guard)).map(drop)
}

/// Checks an output from a client against the schema that the client got, and returns this.
pub fn check_external_output(
    text: &str,
    schema: fn(&mut SchemaGenerator) -> schemars::Schema,
) -> Result<Option<Schema>, Rejection> {
    let schema = describe_external_output(|generator| Some(schema(generator)));
    let compiled = schema.as_ref().and_then(|schema| CompiledSchema::compile(schema.neutral()).ok());
    read_valid(text, compiled.as_ref())?;
    Ok(schema)
}

/// Returns the value of the text `text`. Fails if it is not JSON, or `schema` finds problems.
pub(crate) fn read_valid(text: &str, schema: Option<&CompiledSchema>) -> Result<Value, Rejection> {
    accept(read_with_problems(text, schema)?)
}

/// Returns the value of the text `text`, and its problems: duplicate names, and what `schema` finds. Fails when it is not JSON.
pub(crate) fn read_with_problems(
    text: &str,
    schema: Option<&CompiledSchema>,
) -> Result<(Value, Vec<Problem>), Rejection> {
    let ReadValue { value, repeated } =
        text::read(text).map_err(|error| Rejection::one(feedback::explain_syntax_error(text, &error)))?;
    let found = schema.map(|schema| schema.problems(&value, "")).unwrap_or_default();
    let problems = repeated.into_iter().map(duplicate).chain(found).collect();
    Ok((value, problems))
}

/// Returns a value if it has no problems. Otherwise fails with these.
pub(crate) fn accept((value, problems): (Value, Vec<Problem>)) -> Result<Value, Rejection> {
    if problems.is_empty() { Ok(value) } else { Err(Rejection::new(problems)) }
}

/// Reads arguments as a `T`, after `schema` has checked them; blank text means `{}`.
#[cfg(feature = "agent")]
pub(crate) fn read_as<T: serde::de::DeserializeOwned>(
    text: &str,
    schema: Option<&CompiledSchema>,
) -> Result<T, Rejection> {
    let text = if text::is_blank(text) { "{}" } else { text };
    read_valid(text, schema)?;
    read_typed("", text)
}

/// Reads the value at `path`, whose JSON is `text`, as a `T`. Fails if the type refuses it, although the schema allows it.
#[cfg(feature = "agent")]
pub(crate) fn read_typed<T: serde::de::DeserializeOwned>(path: &str, text: &str) -> Result<T, Rejection> {
    serde_json::from_str(text).map_err(|error| {
        Rejection::one(type_error::explain(path, text, &error, &mut |text| serde_json::from_str::<T>(text).err()))
    })
}

/// Explains why `read` refused the value `text` with `error`, although its schema allows it.
pub fn explain_refusal(
    text: &str,
    error: &serde_json::Error,
    read: &mut dyn FnMut(&str) -> Option<serde_json::Error>,
) -> Rejection {
    Rejection::one(type_error::explain("", text, error, read))
}

/// Returns the problem of a name that is given more than once.
pub fn duplicate(path: String) -> Problem {
    Problem::new(path, ProblemKind::Duplicate, "one value for each name")
}
