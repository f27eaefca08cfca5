//! Tests of real tools and calls from the shared data, as tools made at run time.

use serde_json::Value;
use tool_runtime::{
    CallError, Context, Toolset,
    tool::ErasedTool,
    toolset::{ListFormat, RuntimeTool},
};

use crate::shared_data;

/// Returns a name that providers accept.
fn provider_name(given: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    given.chars().map(fits).take(64).collect()
}

fn tool(name: &str, schema: &Value) -> RuntimeTool {
    RuntimeTool::new(name, "").input(schema.clone()).handler(|arguments, _| async { Ok(arguments) }).unwrap()
}

fn accepts(tools: &Toolset, name: &str, arguments: &str) -> bool {
    match tools.prepare(name, arguments, &Context::new("c")).now().unwrap() {
        Ok(_) => true,
        Err(CallError::Rejected(rejection)) => {
            let message = rejection.to_json().to_string();
            assert!(message.len() < 20_000, "{name} {arguments}: {message}");
            false
        }
        Err(other) => panic!("{name} {arguments}: {other}"),
    }
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn the_tools_of_real_servers_can_be_declared() {
    let data = shared_data::data();
    let mut all = 0;
    for file in shared_data::files(&data.join("mcp-tools"), ".json") {
        let content = shared_data::json(&file);
        let list = content.as_array().or_else(|| content["tools"].as_array()).unwrap();
        let mut tools = Toolset::new();
        for entry in list {
            let name = entry["name"].as_str().unwrap();
            let mut made = RuntimeTool::new(name, entry["description"].as_str().unwrap_or_default())
                .input(entry["inputSchema"].clone());
            if let Some(output) = entry.get("outputSchema") {
                made = made.output(output.clone());
            }
            let made = made.external().unwrap();
            assert!(made.warnings().is_empty(), "{name}: {:?}", made.warnings());
            tools = tools.with(made).unwrap();
            let required = entry["inputSchema"]["required"].as_array().is_some_and(|names| !names.is_empty());
            assert_eq!(accepts(&tools, name, "{}"), !required, "{name}");
        }
        for format in ListFormat::ALL {
            let written: Vec<Value> = serde_json::from_str(tools.list().json(format).get()).unwrap();
            assert_eq!(written.len(), list.len());
        }
        all += list.len();
    }
    assert!(all >= 131, "{all}");
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn labelled_arguments_are_accepted_or_refused_as_labelled() {
    let data = shared_data::data();
    let (mut checked, mut unvalidated, mut wrong) = (0, Vec::new(), Vec::new());
    for file in shared_data::files(&data.join("schemas"), ".jsonl.gz") {
        for record in shared_data::lines(&file) {
            let id = record["id"].as_str().unwrap();
            let made = tool("t", &record["schema"]);
            if made.spec().options.unvalidated {
                unvalidated.push(format!("{id}: {:?}", made.warnings()));
            }
            let tools = Toolset::new().with(made).unwrap();
            for test in record["tests"].as_array().unwrap() {
                checked += 1;
                let accepted = accepts(&tools, "t", &test["data"].to_string());
                if accepted != test["valid"].as_bool().unwrap() {
                    wrong.push(id.to_owned());
                }
            }
        }
    }
    println!("{checked} instances; unvalidated: {unvalidated:?}; disagreements with the labels: {wrong:?}");
    assert!(checked > 3_900 && unvalidated.is_empty() && wrong.is_empty(), "{unvalidated:?} {wrong:?}");
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn ground_truth_calls_decode_against_their_tools() {
    let data = shared_data::data();
    let (mut calls, mut rejected, mut wrong) = (0, 0, Vec::new());
    for record in shared_data::lines(&data.join("bfcl.jsonl.gz")) {
        let find = |call: &Value| record["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == call["name"]);
        for call in record["calls"].as_array().unwrap() {
            let name = provider_name(call["name"].as_str().unwrap());
            let tools = Toolset::new().with(tool(&name, &find(call).unwrap()["parameters"])).unwrap();
            let accepted = accepts(&tools, &name, &call["arguments"].to_string());
            calls += 1;
            rejected += usize::from(!accepted);
            if accepted != call["schema_valid"].as_bool().unwrap() {
                wrong.push(format!("{}: {}", record["id"], call["arguments"]));
            }
        }
    }
    println!("{calls} calls, {rejected} rejected; disagreements: {wrong:#?}");
    assert!(calls > 3_000 && rejected >= 40 && wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn suggestions_for_unknown_tools_are_plausible() {
    let data = shared_data::data();
    let (mut calls, mut unknown, mut suggested, mut plausible) = (0, 0, 0, 0);
    for record in shared_data::lines(&data.join("toolbench.jsonl.gz")) {
        let mut tools = Toolset::new();
        for entry in record["tools"].as_array().unwrap() {
            let made = tool(&provider_name(entry["name"].as_str().unwrap()), &entry["parameters"]);
            tools = tools.clone().with(made).unwrap_or(tools);
        }
        for call in record["calls"].as_array().unwrap() {
            calls += 1;
            let (called, arguments) =
                (provider_name(call["name"].as_str().unwrap()), call["arguments"].as_str().unwrap());
            let problem = call["problem"].as_str().unwrap_or_default();
            match tools.prepare(&called, arguments, &Context::new("c")).now().unwrap() {
                Ok(_) => assert_eq!(problem, "", "{called} {arguments}"),
                Err(CallError::Rejected(rejection)) => {
                    assert!(problem.starts_with("invalid"), "{called} {arguments}: {rejection}");
                }
                Err(CallError::NotAvailable { suggestion, .. }) => {
                    assert_eq!(problem, "unknown tool", "{called}");
                    unknown += 1;
                    let Some(near) = suggestion else { continue };
                    suggested += 1;
                    let shares = called.split('_').filter(|part| part.len() > 3 && near.contains(part)).count();
                    plausible += usize::from(shares > 0);
                    println!("{called} -> {near}");
                }
                Err(other) => panic!("{called}: {other}"),
            }
        }
    }
    println!("{calls} calls, {unknown} to no tool, {suggested} suggestions, {plausible} of them share a word");
    assert!(unknown >= 49 && plausible + 1 >= suggested && suggested >= 10);
}
