//! Defaults and examples: a model takes them for what can be given.

use serde_json::Value;

use super::{Findings, Level};
use crate::schema::Validator;
use crate::tool::ToolSpec;
use tool_schema::schema::places;

pub fn check(spec: &ToolSpec, findings: &mut Findings) {
    let schema = spec.input.neutral();
    let mut given: Vec<(String, &Value, String)> = Vec::new();
    places::each(schema, &mut |at, part| {
        if let Some(default) = part.get("default") {
            given.push((format!("{at}/default"), default, at.to_owned()));
        }
        for (index, example) in part.get("examples").and_then(Value::as_array).into_iter().flatten().enumerate() {
            given.push((format!("{at}/examples/{index}"), example, at.to_owned()));
        }
    });
    for (path, value, at) in given {
        let Some(validator) = places::part(schema, &at).and_then(|part| Validator::compile(&part).ok()) else {
            continue;
        };
        for problem in validator.problems(value, "") {
            let text = format!("{value} is no value that can be given here: {}", problem.sentence());
            findings.add(Level::Error, &spec.name, &*path, text, "correct it, or the type that forbids it");
        }
    }
    let Ok(validator) = Validator::compile(schema) else { return };
    for (index, example) in spec.traits.examples.iter().enumerate() {
        for problem in validator.problems(example, "") {
            let path = format!("/examples/{index}{}", problem.path);
            let text = format!("this example is no call that the tool accepts: {}", problem.sentence());
            findings.add(Level::Error, &spec.name, path, text, "correct the example");
        }
    }
}
