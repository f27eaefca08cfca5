//! Tools that ask in the middle of their work.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tool_runtime::{Context, Failure, Text, Toolset, tool, toolset};

pub(crate) fn tools() -> Toolset {
    toolset!(
        test_elicitation,
        test_missing_capability,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
        test_streaming_elicitation,
        test_input_required_result_elicitation,
        test_input_required_result_request_state,
        test_input_required_result_multi_round,
        test_input_required_result_tampered_state
    )
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct User {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

/// Asks the user what the caller wants to know.
#[tool(effect = read_only)]
async fn test_elicitation(
    /// The question.
    message: String,
    #[context] cx: &Context,
) -> Result<Text, Failure> {
    accepted("User response", &cx.ask::<User>(message).await?)
}

/// Needs somebody who can be asked.
#[tool(effect = write, approval = always)]
fn test_missing_capability() -> Text {
    Text("Somebody has approved it.".to_owned())
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Defaults {
    name: String,
    age: i64,
    score: f64,
    status: Status,
    verified: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Active,
    Inactive,
    Pending,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { name: "John Doe".to_owned(), age: 30, score: 95.5, status: Status::Active, verified: true }
    }
}

/// Asks with defaults for everything.
#[tool(effect = read_only)]
async fn test_elicitation_sep1034_defaults(#[context] cx: &Context) -> Result<Text, Failure> {
    accepted("Elicitation completed", &cx.ask::<Defaults>("Who are you?").await?)
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Choices {
    #[schemars(schema_with = "untitled")]
    untitled_single: Option<String>,
    #[schemars(schema_with = "titled")]
    titled_single: Option<String>,
    #[schemars(schema_with = "legacy")]
    legacy_enum: Option<String>,
    #[schemars(schema_with = "untitled_many")]
    untitled_multi: Option<Vec<String>>,
    #[schemars(schema_with = "titled_many")]
    titled_multi: Option<Vec<String>>,
}

fn untitled(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["option1", "option2", "option3"] })
}

fn titled(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "oneOf": [
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" },
    ] })
}

fn legacy(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    })
}

fn untitled_many(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } })
}

fn titled_many(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "anyOf": [
        { "const": "value1", "title": "First Choice" },
        { "const": "value2", "title": "Second Choice" },
        { "const": "value3", "title": "Third Choice" },
    ] } })
}

/// Asks for choices of every kind.
#[tool(effect = read_only)]
async fn test_elicitation_sep1330_enums(#[context] cx: &Context) -> Result<Text, Failure> {
    accepted("Elicitation completed", &cx.ask::<Choices>("Which?").await?)
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UserName {
    name: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Confirm {
    ok: bool,
}

/// Reports, and asks.
#[tool(effect = read_only)]
async fn test_streaming_elicitation(#[context] cx: &Context) -> Result<Text, Failure> {
    cx.progress(1.0, Some(2.0), "asking");
    accepted("Asked", &cx.ask::<UserName>("What is your name?").await?)
}

/// Asks for a name.
#[tool(effect = read_only)]
async fn test_input_required_result_elicitation(#[context] cx: &Context) -> Result<Text, Failure> {
    let UserName { name } = cx.ask("What is your name?").await?;
    Ok(Text(format!("Hello, {name}!")))
}

/// Asks for a confirmation.
#[tool(effect = read_only)]
async fn test_input_required_result_request_state(#[context] cx: &Context) -> Result<Text, Failure> {
    let Confirm { ok } = cx.ask("Please confirm").await?;
    Ok(Text(format!("state-ok, confirmed: {ok}")))
}

/// Asks twice.
#[tool(effect = read_only)]
async fn test_input_required_result_multi_round(#[context] cx: &Context) -> Result<Text, Failure> {
    let UserName { name } = cx.ask("Step 1: What is your name?").await?;
    let Color { color } = cx.ask("Step 2: What is your favorite color?").await?;
    Ok(Text(format!("{name} likes {color}.")))
}

/// Asks for a confirmation that nobody may forge.
#[tool(effect = read_only)]
async fn test_input_required_result_tampered_state(#[context] cx: &Context) -> Result<Text, Failure> {
    let Confirm { ok } = cx.ask("Please confirm").await?;
    Ok(Text(format!("confirmed: {ok}")))
}

fn accepted(what: &str, content: &impl Serialize) -> Result<Text, Failure> {
    Ok(Text(format!("{what}: action=accept, content={}", serde_json::to_string(content)?)))
}
