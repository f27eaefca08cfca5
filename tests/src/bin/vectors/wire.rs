//! `wire`: checks whether JSON is a valid answer, or part of one, for a schema.
//!
//! The crate `jsonschema` and our own validator check the compact schema. [`Answer`] or [`Report`] must read valid JSON, and
//! write it unchanged.
//!
//! `{"$undefined": true}` stays unchanged, because these cases ask whether the key may be present.

use serde_json::{Value, json};
use tool_runtime::feedback::Report;
use tool_runtime::schema::CompiledSchema;
use tool_schema::feedback::Answer;
use tool_schema::schema::answer::collisions;
use tool_tests::answer_schema as answer;

pub(crate) fn run(case: &Value) -> Result<(), String> {
    let spec = &case["schema"];
    // A recorded JSON Schema does not show whether the output is optional.
    let is_optional = case["name"].as_str().is_some_and(|name| name.contains("optional()"));
    let schema = Part::read(spec, is_optional)?;
    let theirs = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema.0)
        .map_err(|error| format!("not a schema: {error}"))?;
    let ours = CompiledSchema::compile(&schema.0).map_err(|error| error.to_string())?;
    let calls = case["calls"].as_array().ok_or("no calls")?;
    for call in calls {
        let (value, expected) = (&call["input"], call["valid"].as_bool().ok_or("`valid` is missing")?);
        if theirs.is_valid(value) != expected {
            return Err(format!("expected valid: {expected}, got {}, for {value}", !expected));
        }
        // Our validator leaves out patterns that need backtracking, with a warning.
        if ours.is_valid(value) != expected && (expected || ours.warnings().is_empty()) {
            return Err(format!("our validator differs from jsonschema for {value}"));
        }
        if expected {
            check_roundtrip(spec, value).map_err(|error| format!("{error}, for {value}"))?;
        }
    }
    Ok(())
}

/// A part of the answer's schema, by the name of its constructor.
struct Part(Value);

impl Part {
    fn read(spec: &Value, is_optional: bool) -> Result<Self, String> {
        let name = spec["builder"].as_str().ok_or("no builder")?;
        let output = |spec: &Value, at| -> Result<Value, String> {
            let output = schema(spec, at)?;
            Ok(if is_optional { json!({ "anyOf": [output, { "type": "null" }] }) } else { output.clone() })
        };
        Ok(Self(match name {
            "nonEmptyArray" => answer::non_empty_list_schema(schema(spec, 0)?),
            "mkFeedbackAndInstructionsSchema" => answer::remarks_schema(),
            "mkAcceptableValuesSchema" => answer::choices_schema(schema(spec, 0)?),
            "mkParameterValidationFailureReasonsSchema" => answer::reasons_schema(&names(schema(spec, 0)?)?),
            "mkParameterValidationResultSchema" => answer::report_schema(schema(spec, 0)?, &names(schema(spec, 1)?)?),
            "mkValueFailureFeedbackSchema" => answer::value_reasons_schema(schema(spec, 0)?),
            "mkValidationResultsSchema" => answer::reports_schema(record(spec)?, &[]),
            "mkToolCallSuccessSchema" => answer::success_schema(Some(&output(spec, 0)?)),
            "mkToolCallFailureSchema" => answer::failure_schema(input_of_failure(spec)?, &[]),
            "mkToolCallResultSchema" => {
                let input = input_of_failure(&spec["args"][1])?;
                answer::answer_schema(input, Some(&output(&spec["args"][0], 0)?), &[])
            }
            "mkTool2AgentSchema" => answer::answer_schema(schema(spec, 0)?, Some(&output(spec, 1)?), &[]),
            other => return Err(format!("no such part: {other}")),
        }))
    }
}

fn schema(spec: &Value, at: usize) -> Result<&Value, String> {
    spec["args"][at].get("jsonSchema").ok_or_else(|| format!("argument {at} of {} is no schema", spec["builder"]))
}

/// Returns the names that a schema of texts lists.
fn names(schema: &Value) -> Result<Vec<&str>, String> {
    let all = match (schema.get("enum"), schema.get("const")) {
        (Some(all), _) => all.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()),
        (None, Some(one)) => one.as_str().map(|one| vec![one]),
        (None, None) => None,
    };
    all.ok_or_else(|| format!("not a list of names: {schema}"))
}

/// Returns the input of `mkValidationResultsSchema`, whose second argument repeats the names.
fn record(spec: &Value) -> Result<&Value, String> {
    let input = schema(spec, 0)?;
    let known: Vec<&str> =
        input["properties"].as_object().into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
    match spec["args"].get(1) {
        Some(_) if names(schema(spec, 1)?)? != known => Err(format!("the names are not those of {input}")),
        _ => Ok(input),
    }
}

/// Returns the input of `mkToolCallFailureSchema`, whose argument is its report.
fn input_of_failure(spec: &Value) -> Result<&Value, String> {
    let report = &spec["args"][0];
    match report["builder"].as_str() {
        Some("mkValidationResultsSchema") => record(report),
        Some("mkValueFailureFeedbackSchema") => schema(report, 0),
        _ => Err("a failure of an unknown kind".to_owned()),
    }
}

/// Checks that valid JSON can be read, and is written unchanged.
fn check_roundtrip(spec: &Value, value: &Value) -> Result<(), String> {
    let written = match spec["builder"].as_str() {
        Some("mkParameterValidationResultSchema") => {
            serde_json::from_value::<Report>(value.clone()).map(|read| json!(read))
        }
        Some(
            "mkToolCallFailureSchema" | "mkToolCallSuccessSchema" | "mkToolCallResultSchema" | "mkTool2AgentSchema",
        ) if !is_excepted(spec, value) => serde_json::from_value::<Answer>(value.clone()).map(|read| json!(read)),
        _ => return Ok(()),
    };
    match written {
        Ok(written) if written == *value => Ok(()),
        Ok(written) => Err(format!("written again as {written}")),
        Err(error) => Err(format!("not read: {error}")),
    }
}

/// Returns whether tool2agent accepts this answer and our reader does not. One case is an output with a key of the answer,
/// which we refuse in its declaration. The other is reports for an input without parameters, which we never write.
fn is_excepted(spec: &Value, value: &Value) -> bool {
    let schemas = ["/args/0/jsonSchema", "/args/1/jsonSchema", "/args/0/args/0/jsonSchema"];
    let collides = schemas.iter().filter_map(|at| spec.pointer(at)).any(|schema| !collisions(schema).is_empty());
    collides || value["validationResults"].as_object().is_some_and(serde_json::Map::is_empty)
}
