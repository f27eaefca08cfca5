//! Definitions and schemas of the real world, where they are at hand: `../shared`.

use std::{
    io::Read,
    path::PathBuf,
    time::{Duration, Instant},
};

use rmcp::model::Tool;
use serde_json::{Value, json};
use tool_runtime::{Context, toolset::RuntimeTool};

use crate::kit::Stranger;

fn shared(folder: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(folder);
    let other = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(folder);
    [path, other].into_iter().find(|path| path.is_dir())
}

/// The definitions of a file, which holds a list or what `tools/list` gives.
fn definitions(text: &str) -> Vec<Tool> {
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
    let tools = Stranger::new(definitions(text)).connect().await.toolset();
    let cx = Context::new("1");
    assert!(tools.call("far_read_text_file", r#"{"path":"a"}"#, &cx).await.is_ok());
    assert!(tools.call("far_read_text_file", r#"{"path":1}"#, &cx).await.is_err());
}

#[tokio::test]
async fn live_lists_of_servers_are_taken() {
    let Some(folder) = shared("mcp-tools") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let tools = definitions(&std::fs::read_to_string(&path).unwrap());
        let all = tools.len();
        let remote = Stranger::new(tools).connect().await;
        assert_eq!((remote.toolset().len(), remote.refused()), (all, vec![]), "{}", path.display());
        count += all;
    }
    assert!(count > 150, "{count}");
}

#[tokio::test]
async fn schemas_of_the_real_world_accept_and_refuse_as_their_data_says() {
    let Some(folder) = shared("schemas") else { return };
    let (mut cases, mut otherwise) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "gz") {
            continue;
        }
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let began = Instant::now();
            let tool = RuntimeTool::new("t", "").input(case["schema"].clone()).handler(|value, _| async { Ok(value) });
            let tools = tool_runtime::Toolset::new().with(tool.unwrap()).unwrap();
            for test in case["tests"].as_array().unwrap().iter().filter(|test| test["data"].is_object()) {
                let called = tools.call("t", &test["data"].to_string(), &Context::new("1")).await;
                cases += 1;
                otherwise += usize::from(called.is_ok() != (test["valid"] == json!(true)));
            }
            assert!(began.elapsed() < Duration::from_secs(5), "{} took {:?}", case["id"], began.elapsed());
        }
    }
    eprintln!("{cases} instances, {otherwise} judged otherwise than their data says");
    assert!(cases > 2000 && otherwise * 200 < cases, "{otherwise} of {cases}");
}
