//! Tests of chains of layers that change types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{
    Context, Failure, Rejection, Text, Toolset,
    layer::{CallLog, TypeMapping},
    tool, toolset,
    toolset::RuntimeTool,
};

/// Finds lines.
#[tool(effect = read_only, examples = [r#"{"words":["a"],"most":1}"#])]
fn search(words: Vec<String>, #[arg(range(1..=10))] most: u32) -> Found {
    Found { lines: (0..most).map(|n| format!("{n} {}", words.join(" "))).collect() }
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Found {
    lines: Vec<String>,
}

#[derive(Serialize)]
struct Search {
    words: Vec<String>,
    most: u32,
}

/// A question.
#[derive(Deserialize, JsonSchema)]
struct Question {
    /// In plain words.
    text: String,
    #[serde(default)]
    many: bool,
}

fn from_question() -> TypeMapping<Search, Found, Question, Found> {
    TypeMapping::new().map_input(|Question { text, many }| {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            Err(Rejection::of("text", "ask something"))
        } else {
            Ok(Search { words, most: if many { 99 } else { 2 } })
        }
    })
}

fn to_count() -> TypeMapping<Question, Found, Question, usize> {
    TypeMapping::new().map_output(|found: Found| Ok(found.lines.len()))
}

async fn call(tools: &Toolset, arguments: &str) -> Result<String, String> {
    let name = tools.names().next().unwrap();
    let called = tools.call(name, arguments, &Context::new("c")).await;
    called.map(|output| output.text()).map_err(|error| error.for_log())
}

#[tokio::test]
async fn a_chain_changes_types_and_schemas() {
    let tools =
        toolset!(search).layer(from_question().around(CallLog::new(|_| ())).pipe(to_count()).map_output(|count| {
            if count == 0 { Err(Failure::new("nothing")) } else { Ok(Text(format!("{count} lines"))) }
        }));
    assert_eq!(call(&tools, r#"{"text":"a b"}"#).await.unwrap(), "2 lines");
    let spec = &tools.list().specs()[0];
    assert_eq!(
        *spec.input.neutral(),
        json!({
            "description": "A question.",
            "type": "object",
            "properties": { "text": { "type": "string", "description": "In plain words." }, "many": { "type": "boolean", "default": false } },
            "required": ["text"],
            "additionalProperties": false,
        })
    );
    assert!(spec.output.is_none() && spec.options.examples.is_empty() && spec.description == "Finds lines.");
    let spec = toolset!(search).layer(from_question().pipe(to_count())).list().specs()[0].clone();
    assert_eq!(spec.output.as_ref().unwrap().neutral()["type"], "integer");
    for (arguments, feedback) in [
        (r#"{"text":" "}"#, "`text`: ask something"),
        (r#"{"text":7}"#, "`text`: expected"),
        (r#"{"txt":"a"}"#, "`txt`: unknown name"),
        (r#"{"text":"a","text":"b"}"#, "`text`: "),
        ("", "`text`: "),
        ("[", ""),
        (r#"{"text":"a","many":true}"#, "`most`: "),
    ] {
        let refused = call(&tools, arguments).await.unwrap_err();
        assert!(refused.starts_with(feedback), "{arguments}: {refused}");
    }
}

#[tokio::test]
async fn an_output_of_another_type_is_a_failure() {
    let wrong = TypeMapping::<Search, u8>::new().map_output(|n: u8| Ok(n + 1));
    let tools = toolset!(search).layer(wrong);
    let failed = call(&tools, r#"{"words":[],"most":1}"#).await.unwrap_err();
    assert!(failed.contains("the output is not of its type"), "{failed}");
    let external = RuntimeTool::new("out", "Outside.").output(json!({ "type": "integer" })).external().unwrap();
    let tools = Toolset::new()
        .with(external)
        .unwrap()
        .layer(TypeMapping::<Value, u8>::new().map_output(|n: u8| Ok(n.to_string())));
    assert_eq!(tools.list().specs()[0].output.as_ref().unwrap().neutral()["type"], "integer");
    assert_eq!(
        tools.read_external_output("out", "7").unwrap().as_json(),
        Some("7"),
        "an external output has the schema that people are shown"
    );
}
