//! Findings of the linter in declared tools.

use std::collections::HashMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use tool_runtime::{
    Text, Toolset, Validation, lint_test, tool, toolset,
    toolset::{Findings, Level},
};

#[track_caller]
fn found(tools: &Toolset, level: Level, path: &str, text: &str) -> Findings {
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
    let findings = found(&toolset!(take_even), Level::Error, "", "the schema allows");
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
    found(&toolset!(take_broken), Level::Error, "/$defs/Broken/items", "#/$defs/Nobody");
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
    let findings = found(&toolset!(go), Level::Error, "/examples/0/most", "does not accept this example");
    assert!(findings.at_least(Level::Error).iter().len() >= 2, "{findings}");
    found(&toolset!(go), Level::Error, "/properties/place/default", "is not a valid value here");
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
    let findings = found(&toolset!(tag), Level::Error, "/$defs/Tags", "OpenAI cannot enforce the schema strictly");
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
    found(&toolset!(judge), Level::Warning, "/output/properties/feedback", "a key `feedback`");
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
    assert_eq!(findings.at_least(Level::Warning), Findings::default(), "{findings}");
}

/// Say hello.
#[tool(effect = read_only, strict)]
fn greet(
    /// Who.
    #[arg(example = "Ada")]
    name: String,
    /// How often.
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
    assert_eq!(ours.worst().max(Some(Level::Note)), Some(Level::Note), "{ours}");
    assert_eq!(findings.worst(), Some(Level::Warning));
    assert!(findings.to_string().contains("warning: `judge` at /output/properties/feedback: "), "{findings}");
}
