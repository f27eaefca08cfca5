//! Tests that a form carries every value that fits its fields, `null` included, and which values no form can carry.

use std::collections::BTreeMap;

use rmcp::model::{CallToolRequestParams, CallToolResponse, ElicitResult, ElicitationAction, InputResponses};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{Context, Failure, Toolset, tool, toolset};
use tool_server::mcp::{McpServer, RemoteServer};

use crate::{
    mcp::kit::{Client, Person, client, params, text},
    tools::ask_for,
};

#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Colour {
    /// Like the sky.
    Blue,
    /// Like grass.
    Green,
}

/// Ask for a colour, or for none.
#[tool]
async fn ask_colour(#[context] cx: &Context) -> Result<String, Failure> {
    Ok(format!("{:?}", cx.ask::<Option<Colour>>("Which?").await?))
}

/// Let the person give a number or nothing.
#[tool(external, output = Option<u64>)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct maybe_number {}

/// Return nothing.
#[tool(effect = read_only)]
fn nothing() -> Option<f64> {
    None
}

#[derive(Serialize, schemars::JsonSchema)]
struct Measures {
    plain: f64,
    single: f32,
    optional: Option<f64>,
    list: Vec<f64>,
    map: BTreeMap<String, (f64, f32)>,
    #[schemars(range(min = 0.0))]
    limited: f64,
    form: Measured,
    below: Option<Box<Measures>>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(tag = "kind")]
enum Measured {
    Of { value: f64 },
}

/// Return numbers that JSON does not have.
#[tool(effect = read_only)]
fn measure() -> Measures {
    let measures = |below| Measures {
        plain: f64::NAN,
        single: f32::INFINITY,
        optional: Some(f64::NEG_INFINITY),
        list: vec![1.5, f64::NAN],
        map: BTreeMap::from([("a".to_owned(), (f64::NAN, f32::NAN))]),
        limited: f64::INFINITY,
        form: Measured::Of { value: f64::NAN },
        below,
    };
    measures(Some(Box::new(measures(None))))
}

/// Return a number that JSON does not have.
#[tool(effect = read_only)]
fn measure_once() -> f64 {
    f64::NAN
}

fn tools() -> Toolset {
    toolset!(ask_for, ask_colour, maybe_number, nothing, measure, measure_once)
}

async fn connect() -> Client {
    let person: fn(&str) -> ElicitResult = |_| unreachable!("in this revision a server asks with its result");
    client(&McpServer::new(tools()), Person::new(Some(person)), true).await
}

/// Makes a call, fills in its form with `content`, and returns the schema of the form, and the text of the result. A call without
/// a form has no schema.
async fn fill(client: &Client, call: CallToolRequestParams, content: Option<&Value>) -> (Value, String) {
    let asked = match client.call_tool_once(call.clone()).await.unwrap() {
        CallToolResponse::InputRequired(asked) => asked,
        CallToolResponse::Complete(result) => return (Value::Null, text(&result)),
        other => panic!("{other:?}"),
    };
    let (key, request) = asked.input_requests.as_ref().unwrap().iter().next().unwrap();
    let schema = serde_json::to_value(request).unwrap().pointer("/params/requestedSchema").unwrap().clone();
    let mut response = json!({ "action": "accept" });
    if let Some(content) = content {
        response["content"] = content.clone();
    }
    let mut again = call;
    again.request_state = asked.request_state.clone();
    again.input_responses = Some(InputResponses::from([(key.clone(), response)]));
    match client.call_tool_once(again).await.unwrap() {
        CallToolResponse::Complete(result) => (schema, text(&result)),
        other => panic!("{schema}, {content:?}: {other:?}"),
    }
}

#[tokio::test]
async fn numbers_that_json_does_not_have_fit_the_schema_of_the_output() {
    let client = connect().await;
    let tools = client.list_all_tools().await.unwrap();
    for name in ["measure", "measure_once", "nothing"] {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        let schema = Value::Object((**tool.output_schema.as_ref().unwrap()).clone());
        let validator = jsonschema::validator_for(&schema).unwrap();
        let result = client.call_tool(params(name, json!({}))).await.unwrap();
        let value = result.structured_content.unwrap_or_default();
        assert!(validator.is_valid(&value), "{name}: {value} {schema}");
        assert!(value.to_string().contains("null"), "{name}: {value}");
        assert!(!validator.is_valid(&json!("NaN")), "{name}: {schema}");
    }
}

const ID: &str = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

#[tokio::test]
async fn a_form_carries_every_value_that_fits_its_fields() {
    let maybe_text = [
        (json!({ "answer": "" }), json!("")),
        (json!({ "answer": "null" }), json!("null")),
        (json!({ "answer": null }), json!(null)),
        (json!({}), json!(null)),
    ];
    let texts = ["", " ", "null", "é 😀 \u{0}\r\n", "\"quoted\""].map(|text| (json!({ "answer": text }), json!(text)));
    let whole = [json!(0), json!(-1), json!(9_007_199_254_740_993_u64), json!(u64::MAX)];
    let whole = whole.map(|number| (json!({ "answer": number }), number));
    let table: [(Value, &[(Value, Value)]); 15] = [
        (json!({ "type": "string" }), &texts),
        (json!({ "type": "string", "format": "uuid" }), &[(json!({ "answer": ID }), json!(ID))]),
        (json!({ "type": ["string", "null"] }), &maybe_text),
        (
            json!({ "anyOf": [{ "$ref": "#/$defs/text" }, { "type": "null" }], "$defs": { "text": { "type": "string" } } }),
            &maybe_text,
        ),
        (json!({ "type": "integer" }), &whole),
        (json!({ "type": "integer", "minimum": -1, "maximum": u64::MAX }), &whole),
        (
            json!({ "type": "number" }),
            &[
                (json!({ "answer": -0.0 }), json!(-0.0)),
                (json!({ "answer": 1.5 }), json!(1.5)),
                (json!({ "answer": 1e300 }), json!(1e300)),
            ],
        ),
        (json!({ "type": "boolean" }), &[(json!({ "answer": false }), json!(false))]),
        (
            json!({ "type": ["boolean", "null"] }),
            &[(json!({ "answer": false }), json!(false)), (json!({}), json!(null))],
        ),
        (json!({ "type": "null" }), &[(json!({}), json!(null)), (json!({ "answer": null }), json!(null))]),
        (
            json!({ "type": ["string", "null"], "enum": ["a", "null", null] }),
            &[(json!({ "answer": "null" }), json!("null")), (json!({}), json!(null))],
        ),
        (
            json!({ "oneOf": [{ "const": "a", "description": "First." }, { "const": "b" }] }),
            &[(json!({ "answer": "b" }), json!("b"))],
        ),
        (
            json!({ "oneOf": [{ "const": "a", "title": "First" }, { "const": "b", "title": "Second" }] }),
            &[(json!({ "answer": "b" }), json!("b"))],
        ),
        (
            json!({
                "type": "object",
                "properties": { "a": { "type": ["string", "null"] }, "b": { "type": "boolean" }, "c": { "type": ["integer", "null"] } },
                "required": ["a", "b"],
            }),
            &[
                (json!({ "b": false }), json!({ "b": false, "a": null })),
                (json!({ "a": "", "b": true, "c": 0 }), json!({ "a": "", "b": true, "c": 0 })),
                (json!({ "a": null, "b": true, "c": null }), json!({ "a": null, "b": true, "c": null })),
            ],
        ),
        (json!({ "type": "object", "properties": { "a": { "type": "string" } } }), &[(json!({}), json!({}))]),
    ];
    let client = connect().await;
    for (schema, cases) in table {
        for (content, value) in cases {
            let call = params("ask_for", json!({ "schema": schema }));
            let (form, got) = fill(&client, call, Some(content)).await;
            let mut fields = form["properties"].as_object().unwrap().values();
            assert!(fields.all(|field| field["type"].is_string() && field["type"] != "null"), "{form}");
            assert_eq!(serde_json::from_str::<Value>(&got).unwrap_or_default(), json!([value]), "{schema}: {got}");
        }
    }
    // A form without a field that must be filled in may come back without content.
    for (schema, value) in
        [(json!({ "type": ["string", "null"] }), json!(null)), (json!({ "properties": {} }), json!({}))]
    {
        let call = params("ask_for", json!({ "schema": schema }));
        assert_eq!(fill(&client, call, None).await.1, json!([value]).to_string());
    }
}

#[tokio::test]
async fn the_types_of_rust_become_forms() {
    let client = connect().await;
    for (content, got) in [(json!({ "answer": "green" }), "Some(Green)"), (json!({}), "None")] {
        let (form, text) = fill(&client, params("ask_colour", json!({})), Some(&content)).await;
        assert_eq!(form["properties"]["answer"]["enum"], json!(["blue", "green"]), "{form}");
        assert_eq!(text, got);
    }
    for (content, got) in [(json!({ "output": 0 }), "0"), (json!({}), "null")] {
        assert_eq!(fill(&client, params("maybe_number", json!({})), Some(&content)).await.1, got);
    }
}

/// The guide names these kinds.
#[tokio::test]
async fn a_question_that_no_form_can_carry_is_denied() {
    let client = connect().await;
    for schema in [
        json!({}),
        json!(true),
        json!({ "type": "array", "items": { "type": "number" } }),
        json!({ "type": "object" }),
        json!({ "properties": { "inner": { "type": "object", "properties": {} } } }),
        json!({ "type": ["string", "number"] }),
    ] {
        let (form, text) = fill(&client, params("ask_for", json!({ "schema": schema })), None).await;
        assert!(form.is_null() && text.contains("a form of the client cannot carry the question"), "{schema}: {text}");
    }
}

/// Clients of earlier revisions are asked while the call waits.
#[tokio::test]
async fn an_elicitation_carries_null() {
    type Case = (fn(&str) -> ElicitResult, Value);
    let accept: [Case; 3] = [
        (|_| ElicitResult::new(ElicitationAction::Accept), json!([null])),
        (|_| ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "answer": null })), json!([null])),
        (|_| ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "answer": "" })), json!([""])),
    ];
    for (answer, value) in accept {
        let client = client(&McpServer::new(tools()), Person::new(Some(answer)), false).await;
        let call = params("ask_for", json!({ "schema": { "type": ["string", "null"] } }));
        assert_eq!(text(&client.call_tool(call).await.unwrap()), value.to_string());
    }
}

#[tokio::test]
async fn an_output_of_null_reaches_both_clients() {
    let client = connect().await;
    let result = client.call_tool(params("nothing", json!({}))).await.unwrap();
    assert_eq!(result.structured_content, Some(Value::Null));
    let open = || async {
        let (near, far) = tokio::io::duplex(1 << 20);
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(far);
            let _ = McpServer::new(tools()).serve_streams(read, write).await;
        });
        std::io::Result::Ok(tokio::io::split(near))
    };
    let remote = RemoteServer::streams("far", open).allow(["nothing"]).connect().await.unwrap();
    let output = remote.toolset().call("far_nothing", "{}", &Context::new("1")).await.unwrap();
    assert_eq!(output.as_json(), Some("null"));
}
