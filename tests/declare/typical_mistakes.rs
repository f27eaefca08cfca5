//! Tests of the problems that typical mistakes of models cause, for real schemas.

use serde_json::{Value, json};
use tool_runtime::{
    feedback::{Problem, ProblemKind},
    schema::CompiledSchema,
};
use tool_schema::feedback::explain_syntax_error;

use crate::shared_data;

fn compile(schema: &Value) -> CompiledSchema {
    CompiledSchema::compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// Asserts the properties that all problems have.
fn assert_readable(problems: &[Problem], value: &Value) {
    assert!(problems.len() <= 32);
    for problem in problems {
        let text = problem.to_string();
        assert!(!problem.expected.is_empty() && text.len() < 2000, "{text}");
        assert!(!text.chars().any(char::is_control), "{text:?}");
        let exists = value.pointer(&problem.path).is_some();
        assert_eq!(exists, problem.kind != ProblemKind::Missing, "{text}: {value}");
    }
    for (index, problem) in problems.iter().enumerate() {
        assert!(!problems[..index].contains(problem), "a problem is reported twice: {problem}");
    }
}

#[test]
fn each_of_several_mistakes_is_explained() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string" },
            "days": { "type": "integer", "minimum": 1, "maximum": 50 },
            "unit": { "oneOf": [{ "const": "celsius" }, { "const": "fahrenheit" }] },
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    let value = json!({ "unit": "celcius", "days": 70, "ctiy": "Oslo" });
    let problems = compile(&schema).problems(&value, "");
    assert_readable(&problems, &value);
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "`days`: expected a whole number from 1 to 50, got 70",
            r#"`unit`: expected one of "celsius", "fahrenheit", got "celcius"; did you mean "celsius"?"#,
            "`ctiy`: unknown name: expected `city`; did you mean `city`?",
        ]
    );
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn labelled_values_are_judged_as_labelled() {
    let data = shared_data::data();
    let (mut values, mut differing) = (0, Vec::new());
    for file in shared_data::files(&data.join("schemas"), ".jsonl.gz") {
        for record in shared_data::lines(&file) {
            let validator = compile(&record["schema"]);
            let of_another_draft = |warning: &String| warning.contains("names another draft");
            assert!(validator.warnings().iter().all(of_another_draft), "{}: {validator:?}", record["id"]);
            for test in record["tests"].as_array().unwrap() {
                values += 1;
                let (value, expected) = (&test["data"], test["valid"].as_bool().unwrap());
                let problems = validator.problems(value, "");
                assert_eq!(problems.is_empty(), validator.is_valid(value), "{}", record["id"]);
                assert_readable(&problems, value);
                if problems.is_empty() != expected {
                    differing.push(format!("{} {value}: {}", record["id"], test["why"]));
                }
            }
        }
    }
    println!("{values} values");
    assert!(values > 3_000, "{values}");
    assert!(differing.is_empty(), "{} of {values}: {differing:#?}", differing.len());
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn calls_that_break_their_schema_are_explained() {
    let data = shared_data::data();
    let mut messages = Vec::new();
    for (file, most) in [("bfcl.jsonl.gz", 42), ("toolbench.jsonl.gz", 14)] {
        let mut broken = 0;
        for record in shared_data::lines(&data.join(file)) {
            for call in record["calls"].as_array().unwrap() {
                let mut tools = record["tools"].as_array().unwrap().iter();
                let Some(tool) = tools.find(|tool| tool["name"] == call["name"]) else { continue };
                let arguments = match call["arguments"].as_str() {
                    Some(text) => serde_json::from_str(text)
                        .unwrap_or_else(|error| panic!("{}", explain_syntax_error(text, &error))),
                    None => call["arguments"].clone(),
                };
                let problems = compile(&tool["parameters"]).problems(&arguments, "");
                assert_readable(&problems, &arguments);
                broken += usize::from(!problems.is_empty());
                messages.extend(problems.iter().map(|problem| format!("{} {problem}", call["name"])));
            }
        }
        assert_eq!(broken, most, "{file}");
    }
    // `cargo test -p tool-tests --test declare explained -- --nocapture` shows the problems.
    println!("{}", messages.join("\n"));
}
