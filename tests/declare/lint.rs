//! Findings of the linter in declared tools.

use std::collections::HashMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, json};
use tool_runtime::{
    Text, Toolset, Validation, lint_test, tool, toolset,
    toolset::{Finding, Findings, LintLevel, RuntimeTool, RuntimeToolBuilder},
};

#[track_caller]
fn found(tools: &Toolset, level: LintLevel, path: &str, text: &str) -> Findings {
    let findings = tools.lint();
    let is_there = findings
        .iter()
        .any(|one| one.level == level && one.path == path && one.text.contains(text) && !one.tool.is_empty());
    assert!(is_there, "{level:?} {path} {text}, among:\n{findings}");
    findings
}

/// Says less than it accepts, and accepts less than it says.
#[derive(JsonSchema)]
struct Even(u8);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(from)?;
        if number % 2 == 0 { Ok(Self(number)) } else { Err(D::Error::custom("expected an even number")) }
    }
}

/// Take an even number.
#[tool]
fn take_even(number: Even) -> u8 {
    number.0
}

#[test]
fn schema_and_decoder_that_disagree_are_found() {
    let findings = found(&toolset!(take_even), LintLevel::Error, "", "the schema allows");
    assert!(findings.to_string().contains("even number"), "{findings}");
}

/// A reference by hand, to a definition that nobody makes.
#[derive(Deserialize)]
struct Broken {
    first: u8,
}

impl JsonSchema for Broken {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Broken".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "array", "items": { "$ref": "#/$defs/Nobody" } })
    }
}

/// Take something broken.
#[tool]
fn take_broken(broken: Broken) -> u8 {
    broken.first
}

#[test]
fn references_that_lead_nowhere_are_found() {
    found(&toolset!(take_broken), LintLevel::Error, "/$defs/Broken/items", "#/$defs/Nobody");
}

/// A city, with a default that its type forbids.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Place {
    #[schemars(length(min = 3))]
    name: String,
}

impl Default for Place {
    fn default() -> Self {
        Self { name: "Aa".to_owned() }
    }
}

/// Go somewhere.
#[tool(examples = [r#"{"place": {"name": "Oslo"}, "most": "many"}"#, r#"{"most": 3}"#])]
fn go(#[arg(default)] place: Place, #[arg(default = 5)] most: u8) -> String {
    format!("{}{most}", place.name)
}

#[test]
fn defaults_and_examples_that_no_call_can_have_are_found() {
    let findings = found(&toolset!(go), LintLevel::Error, "/examples/0/most", "does not accept this example");
    assert!(findings.at_least(LintLevel::Error).iter().len() >= 2, "{findings}");
    found(&toolset!(go), LintLevel::Error, "/properties/place/default", "is not a valid value here");
}

/// Tag something.
#[derive(Deserialize, JsonSchema)]
struct Tags(HashMap<String, u8>);

/// Tag something.
#[tool(strict)]
fn tag(tags: Tags) -> usize {
    tags.0.len()
}

#[test]
fn losses_in_definitions_are_found() {
    let findings = found(&toolset!(tag), LintLevel::Error, "/$defs/Tags", "OpenAI cannot enforce the schema strictly");
    assert!(findings.to_string().contains("leave out `strict`"), "{findings}");
}

/// An answer with a key of the answer's own.
#[derive(Serialize, JsonSchema)]
struct Judged {
    feedback: String,
}

/// Judge something.
#[tool]
fn judge(text: String) -> Judged {
    Judged { feedback: text }
}

#[test]
fn outputs_with_keys_of_the_answer_are_found() {
    found(&toolset!(judge), LintLevel::Warning, "/output/properties/feedback", "a key `feedback`");
}

/// Ask somebody who must not be asked here.
#[tool]
fn ask(#[dynamic(validate = nobody)] name: String) -> Text {
    Text(name)
}

fn nobody(_: Option<String>, _: AskName<'_>) -> Validation<String> {
    panic!("validators are not asked")
}

#[test]
fn no_code_of_the_application_runs() {
    let findings = toolset!(ask).lint();
    assert_eq!(findings.at_least(LintLevel::Warning), Findings::default(), "{findings}");
}

/// Say hello.
#[tool(effect = read_only, strict)]
fn greet(
    /// The name.
    #[arg(example = "Ada")]
    name: String,
    /// The number of times.
    #[arg(default = 1, range(1..=3))]
    times: u8,
) -> String {
    name.repeat(times.into())
}

lint_test!(toolset!(greet));
lint_test!(greeting_is_sound: toolset!(greet));

#[test]
fn findings_can_be_filtered() {
    let findings = toolset!(greet, judge).lint();
    let ours = findings.clone().retain(|finding| finding.tool == "greet");
    assert_eq!(ours.worst().max(Some(LintLevel::Note)), Some(LintLevel::Note), "{ours}");
    assert_eq!(findings.worst(), Some(LintLevel::Warning));
    assert!(findings.to_string().contains("warning: `judge` at /output/properties/feedback: "), "{findings}");
}

fn lint_tool(name: &str, schema: Value, change: impl FnOnce(RuntimeToolBuilder) -> RuntimeToolBuilder) -> Findings {
    let tool = change(RuntimeTool::new(name, "Does something.").input(schema)).external().unwrap();
    Toolset::new().with(tool).unwrap().lint()
}

#[allow(clippy::needless_pass_by_value, reason = "short to call")]
fn lint_property(schema: Value) -> Findings {
    lint_tool("look", json!({ "type": "object", "properties": { "a": schema }, "required": ["a"] }), |tool| tool)
}

#[track_caller]
fn contains(findings: &Findings, level: LintLevel, path: &str, text: &str) {
    let is = |finding: &&Finding| finding.level == level && finding.path == path && finding.text.contains(text);
    assert!(findings.iter().any(|finding| is(&finding)), "{findings}");
    assert!(findings.iter().all(|finding| !finding.advice.is_empty()));
}

#[test]
fn a_plain_tool_is_sound() {
    let findings = lint_property(json!({ "type": "string", "description": "A text." }));
    assert!(findings.is_empty(), "{findings}");
    assert_eq!(findings.worst(), None);
    findings.deny(LintLevel::Note);
}

#[test]
fn references_lead_somewhere() {
    let findings = lint_property(json!({ "$ref": "#/$defs/Missing" }));
    assert_eq!(findings.worst(), Some(LintLevel::Error), "{findings}");
    let output =
        lint_tool("look", json!({ "type": "object" }), |tool| tool.output(json!({ "$ref": "#/$defs/Missing" })));
    contains(&output, LintLevel::Error, "/output", "has no target");
}

#[test]
fn defaults_and_examples_can_be_given() {
    let findings = lint_property(json!({ "type": "integer", "maximum": 3, "default": 4, "examples": [1, "two"] }));
    contains(&findings, LintLevel::Error, "/properties/a/default", "4 is not a valid value");
    contains(&findings, LintLevel::Error, "/properties/a/examples/1", "\"two\" is not a valid value");
    assert_eq!(findings.at_least(LintLevel::Error).iter().len(), 2, "{findings}");
    let example = |tool: RuntimeToolBuilder| tool.options(|options| options.examples = vec![json!({ "b": 1 })]);
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": false,
    });
    let findings = lint_tool("look", schema, example);
    contains(&findings, LintLevel::Error, "/examples/0/a", "does not accept this example");
}

#[test]
fn losses_of_providers_are_reported() {
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" }, "description": "m" });
    let strict = |tool: RuntimeToolBuilder| tool.options(|options| options.strict = true);
    let whole =
        json!({ "type": "object", "properties": { "a": map }, "required": ["a"], "additionalProperties": false });
    let findings = lint_tool("look", whole, strict);
    contains(&findings, LintLevel::Error, "/properties/a", "OpenAI cannot enforce the schema strictly");
    contains(&findings, LintLevel::Error, "/properties/a", "Anthropic cannot enforce the schema strictly");
    let union = lint_property(json!({ "anyOf": [{ "type": "string" }, { "type": "object", "properties": {} }] }));
    assert_eq!(union.worst(), Some(LintLevel::Warning), "{union}");
}

#[test]
fn names_are_far_apart() {
    let tool = |name: &str| RuntimeTool::new(name, "Does something.").external().unwrap();
    let tools = Toolset::new().with(tool("look-up")).unwrap().with(tool("Look_Up")).unwrap();
    let tools = tools.with(tool("2nd")).unwrap();
    let findings = tools.lint();
    contains(&findings, LintLevel::Warning, "", "differs only in case and dashes");
    contains(&findings, LintLevel::Warning, "", "begin with a letter");
    let odd =
        lint_tool("look", json!({ "type": "object", "properties": { "a b": { "description": "x" } } }), |tool| tool);
    contains(&odd, LintLevel::Warning, "/properties/a b", "names of parameters");
}

#[test]
fn sizes_are_counted() {
    let tool = |index: usize| RuntimeTool::new(format!("tool_{index}"), "Does something.").external().unwrap();
    let many = (0..129).fold(Toolset::new(), |tools, index| tools.with(tool(index)).unwrap());
    contains(&many.lint(), LintLevel::Warning, "", "129 tools");
    let long = RuntimeTool::new("look", "x".repeat(1025)).external().unwrap();
    contains(&Toolset::new().with(long).unwrap().lint(), LintLevel::Warning, "", "1025 characters");
    let none = RuntimeTool::new("look", " ").external().unwrap();
    contains(&Toolset::new().with(none).unwrap().lint(), LintLevel::Warning, "", "the tool has no description");
}

#[test]
fn outputs_have_keys_of_their_own() {
    let output = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    let findings = lint_tool("look", json!({ "type": "object" }), |tool| tool.output(output));
    contains(&findings, LintLevel::Warning, "/output/properties/ok", "a key `ok`");
}

#[test]
#[should_panic(expected = "must not be")]
fn a_test_fails_with_the_findings() {
    lint_property(json!({ "type": "integer", "default": "one" })).deny(LintLevel::Error);
}
