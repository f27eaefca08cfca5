//! Each rule finds what it is for.
#![allow(clippy::needless_pass_by_value, reason = "short to call")]

use serde_json::{Value, json};

use super::{Findings, Level};
use crate::toolset::{RuntimeTool, RuntimeToolBuilder, Toolset};

fn lint(name: &str, schema: Value, change: impl FnOnce(RuntimeToolBuilder) -> RuntimeToolBuilder) -> Findings {
    let tool = change(RuntimeTool::new(name, "Does something.").input(schema)).external().unwrap();
    Toolset::new().with(tool).unwrap().lint()
}

fn of(schema: Value) -> Findings {
    lint("look", json!({ "type": "object", "properties": { "a": schema }, "required": ["a"] }), |tool| tool)
}

#[track_caller]
fn found(findings: &Findings, level: Level, path: &str, text: &str) {
    let is = |finding: &&super::Finding| finding.level == level && finding.path == path && finding.text.contains(text);
    assert!(findings.iter().any(|finding| is(&finding)), "{findings}");
    assert!(findings.iter().all(|finding| !finding.advice.is_empty()));
}

#[test]
fn a_plain_tool_is_sound() {
    let findings = of(json!({ "type": "string", "description": "A text." }));
    assert!(findings.is_empty(), "{findings}");
    assert_eq!(findings.worst(), None);
    findings.deny(Level::Note);
}

#[test]
fn references_lead_somewhere() {
    let findings = of(json!({ "$ref": "#/$defs/Missing" }));
    assert_eq!(findings.worst(), Some(Level::Error), "{findings}");
    let output = lint("look", json!({ "type": "object" }), |tool| tool.output(json!({ "$ref": "#/$defs/Missing" })));
    found(&output, Level::Error, "/output", "leads nowhere");
}

#[test]
fn defaults_and_examples_can_be_given() {
    let findings = of(json!({ "type": "integer", "maximum": 3, "default": 4, "examples": [1, "two"] }));
    found(&findings, Level::Error, "/properties/a/default", "4 is no value");
    found(&findings, Level::Error, "/properties/a/examples/1", "\"two\" is no value");
    assert_eq!(findings.at_least(Level::Error).iter().len(), 2, "{findings}");
    let example = |tool: RuntimeToolBuilder| tool.traits(|traits| traits.examples = vec![json!({ "b": 1 })]);
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": false,
    });
    let findings = lint("look", schema, example);
    found(&findings, Level::Error, "/examples/0/a", "no call that the tool accepts");
}

#[test]
fn what_providers_lose_is_told() {
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" }, "description": "m" });
    let strict = |tool: RuntimeToolBuilder| tool.traits(|traits| traits.strict = true);
    let whole =
        json!({ "type": "object", "properties": { "a": map }, "required": ["a"], "additionalProperties": false });
    let findings = lint("look", whole, strict);
    found(&findings, Level::Error, "/properties/a", "OpenAI cannot be asked to be strict");
    found(&findings, Level::Error, "/properties/a", "Anthropic cannot be asked to be strict");
    let union = of(json!({ "anyOf": [{ "type": "string" }, { "type": "object", "properties": {} }] }));
    assert_eq!(union.worst(), Some(Level::Warning), "{union}");
}

#[test]
fn names_are_far_apart() {
    let tool = |name: &str| RuntimeTool::new(name, "Does something.").external().unwrap();
    let tools = Toolset::new().with(tool("look-up")).unwrap().with(tool("Look_Up")).unwrap();
    let tools = tools.with(tool("2nd")).unwrap();
    let findings = tools.lint();
    found(&findings, Level::Warning, "", "same but for case and dashes");
    found(&findings, Level::Warning, "", "begin with a letter");
    let odd = lint("look", json!({ "type": "object", "properties": { "a b": { "description": "x" } } }), |tool| tool);
    found(&odd, Level::Warning, "/properties/a b", "names of parameters");
}

#[test]
fn sizes_are_counted() {
    let tool = |index: usize| RuntimeTool::new(format!("tool_{index}"), "Does something.").external().unwrap();
    let many = (0..129).fold(Toolset::new(), |tools, index| tools.with(tool(index)).unwrap());
    found(&many.lint(), Level::Warning, "", "129 tools");
    let long = RuntimeTool::new("look", "x".repeat(1025)).external().unwrap();
    found(&Toolset::new().with(long).unwrap().lint(), Level::Warning, "", "1025 characters");
    let none = RuntimeTool::new("look", " ").external().unwrap();
    found(&Toolset::new().with(none).unwrap().lint(), Level::Warning, "", "nothing says what the tool does");
}

#[test]
fn outputs_are_told_apart() {
    let output = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    let findings = lint("look", json!({ "type": "object" }), |tool| tool.output(output));
    found(&findings, Level::Warning, "/output/properties/ok", "a key `ok`");
}

#[test]
#[should_panic(expected = "must not be")]
fn a_test_ends_with_what_was_found() {
    of(json!({ "type": "integer", "default": "one" })).deny(Level::Error);
}
