//! Tests of the linter's findings, for declared tools and tools made at run time.

use std::collections::HashMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, json};
use tool_runtime::{
    Context, Text, Toolset, Validation, lint_test, tool, toolset,
    toolset::{Finding, Findings, LintLevel, RuntimeTool, RuntimeToolBuilder},
};

#[track_caller]
fn assert_found(tools: &Toolset, level: LintLevel, path: &str, text: &str) -> Findings {
    let findings = tools.lint();
    let is_there = findings
        .iter()
        .any(|one| one.level == level && one.path == path && one.text.contains(text) && !one.tool.is_empty());
    assert!(is_there, "{level:?} {path} {text}, among:\n{findings}");
    findings
}

/// A number whose schema allows more values than its decoder.
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
fn a_schema_and_a_decoder_that_disagree_are_found() {
    let findings = assert_found(&toolset!(take_even), LintLevel::Error, "", "the schema allows");
    assert!(findings.to_string().contains("even number"), "{findings}");
}

/// A type whose schema refers to a definition that does not exist.
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
fn references_without_a_target_are_found() {
    assert_found(&toolset!(take_broken), LintLevel::Error, "/$defs/Broken/items", "#/$defs/Nobody");
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
    let findings = assert_found(&toolset!(go), LintLevel::Error, "/examples/0/most", "does not accept this example");
    assert!(findings.at_least(LintLevel::Error).iter().len() >= 2, "{findings}");
    assert_found(&toolset!(go), LintLevel::Error, "/properties/place/default", "is not a valid value here");
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
    let findings =
        assert_found(&toolset!(tag), LintLevel::Error, "/$defs/Tags", "OpenAI cannot enforce the schema strictly");
    assert!(findings.to_string().contains("leave out `strict`"), "{findings}");
}

/// An output with a key that the tool's answer also has.
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
    assert_found(&toolset!(judge), LintLevel::Warning, "/output/properties/feedback", "a key `feedback`");
}

/// Ask a person.
#[tool]
fn ask(#[dynamic(validate = unused)] name: String) -> Text {
    Text(name)
}

fn unused(_: Option<String>, _: AskName<'_>) -> Validation<String> {
    panic!("the linter called a validator")
}

#[test]
fn the_linter_runs_no_code_of_the_application() {
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
fn assert_contains(findings: &Findings, level: LintLevel, path: &str, text: &str) {
    let is = |finding: &&Finding| finding.level == level && finding.path == path && finding.text.contains(text);
    assert!(findings.iter().any(|finding| is(&finding)), "{findings}");
    assert!(findings.iter().all(|finding| !finding.advice.is_empty()));
}

#[test]
fn a_plain_tool_has_no_findings() {
    let findings = lint_property(json!({ "type": "string", "description": "A text." }));
    assert!(findings.is_empty(), "{findings}");
    assert_eq!(findings.worst(), None);
    findings.deny(LintLevel::Note);
}

#[test]
fn run_time_references_without_a_target_are_found() {
    let findings = lint_property(json!({ "$ref": "#/$defs/Missing" }));
    assert_eq!(findings.worst(), Some(LintLevel::Error), "{findings}");
    let output =
        lint_tool("look", json!({ "type": "object" }), |tool| tool.output(json!({ "$ref": "#/$defs/Missing" })));
    assert_contains(&output, LintLevel::Error, "/output/$ref", "has no target");
}

#[test]
fn invalid_defaults_and_examples_are_found() {
    let findings = lint_property(json!({ "type": "integer", "maximum": 3, "default": 4, "examples": [1, "two"] }));
    assert_contains(&findings, LintLevel::Error, "/properties/a/default", "4 is not a valid value");
    assert_contains(&findings, LintLevel::Error, "/properties/a/examples/1", "\"two\" is not a valid value");
    assert_eq!(findings.at_least(LintLevel::Error).iter().len(), 2, "{findings}");
    let example = |tool: RuntimeToolBuilder| tool.options(|options| options.examples = vec![json!({ "b": 1 })]);
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": false,
    });
    let findings = lint_tool("look", schema, example);
    assert_contains(&findings, LintLevel::Error, "/examples/0/a", "does not accept this example");
}

#[test]
fn losses_of_providers_are_reported() {
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" }, "description": "m" });
    let strict = |tool: RuntimeToolBuilder| tool.options(|options| options.strict = true);
    let whole =
        json!({ "type": "object", "properties": { "a": map }, "required": ["a"], "additionalProperties": false });
    let findings = lint_tool("look", whole, strict);
    assert_contains(&findings, LintLevel::Error, "/properties/a", "OpenAI cannot enforce the schema strictly");
    assert_contains(&findings, LintLevel::Error, "/properties/a", "Anthropic cannot enforce the schema strictly");
    let union = lint_property(json!({ "anyOf": [{ "type": "string" }, { "type": "object", "properties": {} }] }));
    assert_eq!(union.worst(), Some(LintLevel::Warning), "{union}");
}

#[test]
fn names_that_are_confusable_or_invalid_are_found() {
    let tool = |name: &str| RuntimeTool::new(name, "Does something.").external().unwrap();
    let tools = Toolset::new().with(tool("look-up")).unwrap().with(tool("Look_Up")).unwrap();
    let tools = tools.with(tool("2nd")).unwrap();
    let findings = tools.lint();
    assert_contains(&findings, LintLevel::Warning, "", "differs only in case and dashes");
    assert_contains(&findings, LintLevel::Warning, "", "begin with a letter");
    let odd =
        lint_tool("look", json!({ "type": "object", "properties": { "a b": { "description": "x" } } }), |tool| tool);
    assert_contains(&odd, LintLevel::Warning, "/properties/a b", "names of parameters");
}

#[test]
fn too_many_tools_and_too_long_or_missing_descriptions_are_found() {
    let tool = |index: usize| RuntimeTool::new(format!("tool_{index}"), "Does something.").external().unwrap();
    let many = (0..129).fold(Toolset::new(), |tools, index| tools.with(tool(index)).unwrap());
    assert_contains(&many.lint(), LintLevel::Warning, "", "129 tools");
    let long = RuntimeTool::new("look", "x".repeat(1025)).external().unwrap();
    assert_contains(&Toolset::new().with(long).unwrap().lint(), LintLevel::Warning, "", "1025 characters");
    let none = RuntimeTool::new("look", " ").external().unwrap();
    assert_contains(&Toolset::new().with(none).unwrap().lint(), LintLevel::Warning, "", "the tool has no description");
}

#[test]
fn run_time_outputs_with_keys_of_the_answer_are_found() {
    let output = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    let findings = lint_tool("look", json!({ "type": "object" }), |tool| tool.output(output));
    assert_contains(&findings, LintLevel::Warning, "/output/properties/ok", "a key `ok`");
}

#[test]
#[should_panic(expected = "must not be")]
fn deny_panics_with_the_findings() {
    lint_property(json!({ "type": "integer", "default": "one" })).deny(LintLevel::Error);
}

/// An order, whose schema has a pattern that cannot be checked in linear time.
#[derive(Deserialize, JsonSchema)]
struct Ahead {
    #[schemars(regex(pattern = "^(?=a)"))]
    name: String,
}

/// Take an order.
#[tool]
fn take_ahead(order: Ahead) -> String {
    order.name
}

/// Take a number.
#[tool]
fn take_number(number: u8) -> u8 {
    number
}

#[tokio::test]
async fn what_cannot_be_checked_is_an_error_and_never_runs() {
    let tools = toolset!(take_ahead, take_number);
    assert_found(&tools, LintLevel::Error, "", "is not checked");
    let cx = Context::new("1");
    let error = tools.call("take_ahead", r#"{"order":{"name":"a"}}"#, &cx).await.unwrap_err();
    assert!(error.for_log().contains("lint::Ahead") && error.for_log().contains("`order`"), "{}", error.for_log());
    assert!(!error.to_string().contains("Ahead"), "only the operator sees the type: {error}");
    assert!(tools.call("take_number", r#"{"number":1}"#, &cx).await.is_ok());
}

/// Keys that are numbers, in the buffer of serde.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    Named { names: HashMap<u32, String> },
}

/// Take names.
#[tool]
fn take_names(names: Tagged) -> usize {
    let Tagged::Named { names } = names;
    names.len()
}

/// A number that is too wide for serde here.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Wide {
    Number(i128),
    Nothing,
}

/// Take a wide number.
#[tool]
fn take_wide(number: Wide) -> bool {
    matches!(number, Wide::Number(1))
}

#[test]
fn what_serde_cannot_read_inside_of_an_enum_is_an_error() {
    assert_eq!(toolset!(take_names).lint().at_least(LintLevel::Error).iter().len(), 0);
    let tools = toolset!(take_wide);
    assert_found(&tools, LintLevel::Error, "", "the schema allows");
    let advice = &tools.lint().at_least(LintLevel::Error).to_string();
    assert!(advice.contains("`/$defs/Wide`") && advice.contains("use `i64` or `u64`"), "{advice}");
}
