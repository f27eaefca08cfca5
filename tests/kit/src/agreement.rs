//! Compares the decoder of a tool with its schema. The crate `jsonschema` reads the schema.
//!
//! The exceptions, each with a test of its own:
//! - `5.0` for an integer: JSON Schema calls it an integer, serde does not, so it is refused.
//! - a parameter or a field of a struct that is given twice: the decoder refuses it, but a schema cannot. In a map or any other value,
//!   the last one counts. Tools defined at run time refuse it everywhere.
//! - depth: each parameter may be nested 127 levels deep, and so may the arguments of a tool defined at run time.
//! - character classes in patterns: `\d` and `\w` are Unicode here and ASCII in ECMA-262.

use serde_json::Value;
use tool_runtime::{CallError, Context, Toolset, tool::ErasedTool};
use tool_schema::schema::{Sampler, read_values};

/// Compares decoder and schema on `rounds` arguments for every tool of `tools`. Some arguments are valid, and most nearly are. No value is
/// read in another form there. An eighth of the arguments is also written in another form: what is read of them must be accepted.
///
/// # Panics
///
/// If they differ, if a tool received no accepted or no refused arguments, or if no tool can be compared.
pub fn check(tools: &Toolset, rounds: u64) {
    let (mut compared, mut readings) = (0, 0);
    'tools: for tool in tools.iter() {
        let schema = tool.spec().input.neutral();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .unwrap_or_else(|error| panic!("{}: {error}", tool.name()));
        let (mut accepted, mut refused) = (0, 0);
        for round in 0..rounds {
            let mut sampler = Sampler::new(round);
            let mut value = sampler.near(schema);
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
            if round.is_multiple_of(8) {
                sampler.disguise(&mut value);
                readings += u64::from(check_reading(&**tool, &validator, &value));
            }
        }
        assert!(accepted > 0, "{}: no arguments were accepted", tool.name());
        assert!(refused > 0, "{}: no arguments were refused", tool.name());
        compared += 1;
    }
    assert!(compared > 0, "each tool has validators, so none was compared");
    assert!(readings > 0 || rounds < 1000, "no value was read in another form");
}

/// Returns whether values of the arguments `sent` are read in another form. Then these were refused, and the result is accepted.
fn check_reading(tool: &dyn ErasedTool, validator: &jsonschema::Validator, sent: &Value) -> bool {
    let Some(read) = read_values(tool.spec().input.neutral(), &sent.to_string()) else { return false };
    let value: Value = serde_json::from_str(&read.text).expect("a reading is JSON");
    let cx = Context::new("agreement");
    let accepts = |text: &str| tool.prepare(text, &cx).now().is_ok_and(|read| read.is_ok());
    let (name, text) = (tool.name(), &read.text);
    assert!(validator.is_valid(&value) && !validator.is_valid(sent), "{name} {sent} is read as {text}");
    assert!(!accepts(&sent.to_string()), "{name} accepts {sent}, which is read as {text}");
    assert!(accepts(text) || has_whole_float(&value), "{name} refuses {text}, which {sent} is read as");
    true
}

fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|float| float.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(entries) => entries.values().any(has_whole_float),
        _ => false,
    }
}
