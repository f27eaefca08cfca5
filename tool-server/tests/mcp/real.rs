//! Tests with definitions and schemas of the real world, some of them in `../shared`.

use std::{io::Read, path::PathBuf};

use rmcp::model::Tool;
use serde_json::{Value, json};
use tool_runtime::{Context, toolset::RuntimeTool};
use tool_test_kit::within;

use crate::mcp::kit::Stranger;

fn shared(folder: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(folder);
    assert!(path.is_dir(), "{} is not there", path.display());
    path
}

/// Returns the definitions in a text, which is a list or the response to `tools/list`.
fn parse_definitions(text: &str) -> Vec<Tool> {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let list = value.get("tools").or_else(|| value.get("result")?.get("tools")).unwrap_or(&value).clone();
    serde_json::from_value(list).expect("tools")
}

#[tokio::test]
async fn a_real_definition_becomes_a_tool() {
    let text = r#"[{"name":"read_text_file","title":"Read Text File","description":"Read a file.","inputSchema":
        {"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string"},
        "tail":{"description":"Last N lines","type":"number"}},"required":["path"]},
        "annotations":{"readOnlyHint":true}}]"#;
    let tools = Stranger::new(parse_definitions(text)).connect().await.toolset();
    let cx = Context::new("1");
    assert!(tools.call("far_read_text_file", r#"{"path":"a"}"#, &cx).await.is_ok());
    assert!(tools.call("far_read_text_file", r#"{"path":1}"#, &cx).await.is_err());
}

/// Schemas as people write them for tools, each with valid and with invalid arguments.
const OWN: &str = r##"
{"id":"union","schema":{"type":"object","properties":{"to":{"anyOf":[{"type":"string","format":"email"},{"type":"integer","minimum":1}]}},"required":["to"]},"tests":[{"valid":true,"data":{"to":7}},{"valid":false,"data":{"to":0}},{"valid":false,"data":{}}]}
{"id":"tagged","schema":{"type":"object","properties":{"shape":{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},{"type":"object","properties":{"kind":{"const":"box"},"w":{"type":"number"}},"required":["kind","w"]}]}}},"tests":[{"valid":true,"data":{"shape":{"kind":"box","w":1}}},{"valid":false,"data":{"shape":{"kind":"box","r":1}}}]}
{"id":"recursive","schema":{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"n":{"type":"integer"}},"required":["n"]}}},"tests":[{"valid":true,"data":{"n":1,"next":{"n":2}}},{"valid":false,"data":{"n":1,"next":{"n":"2"}}}]}
{"id":"draft7","schema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"id":{"type":"string","pattern":"^[a-z]+-[0-9]+$"}},"properties":{"ids":{"type":"array","items":{"$ref":"#/definitions/id"},"minItems":1,"uniqueItems":true}}},"tests":[{"valid":true,"data":{"ids":["a-1","b-2"]}},{"valid":false,"data":{"ids":["a-1","a-1"]}},{"valid":false,"data":{"ids":["A1"]}}]}
{"id":"closed","schema":{"type":"object","properties":{"a":{"type":["string","null"],"maxLength":2}},"additionalProperties":false},"tests":[{"valid":true,"data":{"a":null}},{"valid":true,"data":{}},{"valid":false,"data":{"a":"abc"}},{"valid":false,"data":{"b":1}}]}
{"id":"conditional","schema":{"type":"object","properties":{"mode":{"enum":["fast","exact"]},"digits":{"type":"integer"}},"if":{"properties":{"mode":{"const":"exact"}},"required":["mode"]},"then":{"required":["digits"]}},"tests":[{"valid":true,"data":{"mode":"fast"}},{"valid":true,"data":{"mode":"exact","digits":3}},{"valid":false,"data":{"mode":"exact"}}]}
{"id":"map","schema":{"type":"object","patternProperties":{"^x_":{"type":"integer","multipleOf":5}},"propertyNames":{"maxLength":4},"minProperties":1},"tests":[{"valid":true,"data":{"x_a":10}},{"valid":false,"data":{"x_a":11}},{"valid":false,"data":{"too_long":1}},{"valid":false,"data":{}}]}
"##;

#[tokio::test]
async fn schemas_as_people_write_them_give_the_expected_verdicts() {
    let (cases, otherwise) = check_instances(OWN).await;
    assert_eq!((cases, otherwise), (21, 0));
}

/// Returns the number of instances in a collection, and the number with an unexpected verdict.
async fn check_instances(text: &str) -> (usize, usize) {
    let (mut cases, mut otherwise) = (0, 0);
    for line in text.lines().filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let tool = RuntimeTool::new("t", "").input(case["schema"].clone()).handler(|value, _| async { Ok(value) });
        let tools = tool_runtime::Toolset::new().with(tool.unwrap()).unwrap();
        for test in case["tests"].as_array().unwrap().iter().filter(|test| test["data"].is_object()) {
            let arguments = test["data"].to_string();
            let called = within(&case["id"].to_string(), tools.call("t", &arguments, &Context::new("1"))).await;
            cases += 1;
            otherwise += usize::from(called.is_ok() != (test["valid"] == json!(true)));
        }
    }
    (cases, otherwise)
}

#[tokio::test]
#[ignore = "needs ../shared, which is not part of the repository"]
async fn the_lists_of_live_servers_are_accepted() {
    let folder = shared("mcp-tools");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let tools = parse_definitions(&std::fs::read_to_string(&path).unwrap());
        let all = tools.len();
        let remote = Stranger::new(tools).connect().await;
        assert_eq!((remote.toolset().len(), remote.skipped()), (all, vec![]), "{}", path.display());
        count += all;
    }
    assert!(count > 150, "{count}");
}

#[tokio::test]
#[ignore = "needs ../shared, which is not part of the repository"]
async fn schemas_of_the_real_world_give_the_expected_verdicts() {
    let folder = shared("schemas");
    let (mut cases, mut otherwise) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "gz") {
            continue;
        }
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        let (some, wrong) = check_instances(&text).await;
        (cases, otherwise) = (cases + some, otherwise + wrong);
    }
    eprintln!("{cases} instances, {otherwise} with another verdict than their data has");
    assert!(cases > 2000 && otherwise * 200 < cases, "{otherwise} of {cases}");
}
