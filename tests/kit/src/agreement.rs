//! Compares the decoder of a tool with its schema. The crate `jsonschema` reads the schema.
//!
//! The exceptions, each with a test of its own:
//! - `5.0` for an integer: JSON Schema calls it an integer, serde does not, so it is refused.
//! - a parameter or a field of a struct that is given twice: the decoder refuses it, but a schema cannot. In a map or any other value,
//!   the last one counts. Tools defined at run time refuse it everywhere.
//! - depth: each parameter may be nested 127 levels deep, and so may the arguments of a tool defined at run time.
//! - character classes in patterns: `\d` and `\w` are Unicode here and ASCII in ECMA-262.

use serde_json::Value;
use tool_runtime::{CallError, Context, Toolset};
use tool_schema::schema::Sampler;

/// Compares decoder and schema on `rounds` arguments for every tool of `tools`. Some arguments are valid, and most nearly are.
///
/// # Panics
///
/// If they differ, if a tool received no accepted or no refused arguments, or if no tool can be compared.
pub fn check(tools: &Toolset, rounds: u64) {
    let mut compared = 0;
    'tools: for tool in tools.iter() {
        let schema = tool.spec().input.neutral();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .unwrap_or_else(|error| panic!("{}: {error}", tool.name()));
        let (mut accepted, mut refused) = (0, 0);
        for round in 0..rounds {
            let value = Sampler::new(round).near(schema);
            let text = value.to_string();
            let cx = Context::new("agreement");
            // Validators check more than the schema, so they have their own tests.
            let Ok(started) = tool.prepare(&text, &cx).now() else { continue 'tools };
            let ours = match started {
                Ok(_) => true,
                Err(CallError::Rejected(rejection)) => {
                    assert!(!rejection.problems().is_empty());
                    false
                }
                Err(other) => panic!("{} {text}: {other}", tool.name()),
            };
            let theirs = validator.is_valid(&value);
            let excepted = theirs && !ours && has_whole_float(&value);
            assert!(
                ours == theirs || excepted,
                "{} {text}\nours: {ours}, jsonschema: {theirs}\n{schema:#}",
                tool.name()
            );
            *if ours { &mut accepted } else { &mut refused } += 1;
        }
        assert!(accepted > 0, "{}: no arguments were accepted", tool.name());
        assert!(refused > 0, "{}: no arguments were refused", tool.name());
        compared += 1;
    }
    assert!(compared > 0, "each tool has validators, so none was compared");
}

fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|float| float.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(entries) => entries.values().any(has_whole_float),
        _ => false,
    }
}
