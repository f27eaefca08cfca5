//! Whether the decoder accepts what the schema accepts, on arguments that are made up after the schema.

use serde_json::Value;

use super::{Findings, Level, sample::Dice};
use crate::schema::Validator;
use crate::tool::{CallError, Context, DynTool};

/// How many arguments are made up for each tool.
const ROUNDS: u64 = 300;

pub fn check(tool: &dyn DynTool, findings: &mut Findings) {
    let schema = tool.spec().input.neutral();
    let Ok(validator) = Validator::compile(schema) else { return };
    let cx = Context::new("lint");
    for round in 0..ROUNDS {
        let value = Dice::new(round).near(schema);
        let text = value.to_string();
        // Validators are not asked: they belong to the application, and may do anything.
        let Ok(started) = tool.start(&text, &cx).now() else { return };
        let refusal = match started {
            Ok(_) => None,
            Err(CallError::Rejected(rejection)) => Some(rejection.lines().join("; ")),
            // A secret that is not there, or a layer that lets nothing through.
            Err(_) => return,
        };
        let is_valid = validator.is_valid(&value);
        let text = match refusal {
            Some(refusal) if is_valid && !has_whole_float(&value) => {
                format!("the schema allows {text}, but the tool refuses it: {refusal}")
            }
            None if !is_valid => {
                let problems = validator.problems(&value, "");
                let problems: Vec<String> = problems.iter().map(crate::feedback::Problem::sentence).collect();
                format!("the schema forbids {text}, but the tool accepts it: {}", problems.join("; "))
            }
            _ => continue,
        };
        let advice = "make `JsonSchema` and `Deserialize` of the parameters' types say the same";
        findings.add(Level::Error, &tool.spec().name, "", text, advice);
        return;
    }
}

/// `5.0` is an integer to JSON Schema, and none to serde.
fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|float| float.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(entries) => entries.values().any(has_whole_float),
        _ => false,
    }
}
