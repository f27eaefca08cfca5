//! Servers as toolsets.

use std::{error::Error, time::Duration};

use serde_json::{Value, json};
use tool_runtime::{
    Agent, Context, Toolset,
    agent::{Front, QuestionRequest},
    run::Decision,
};
use tool_server::mcp::{RemoteServer, RemoteTools};

type Done = Result<(), Box<dyn Error>>;

/// Plays the client of a scenario of the conformance suite: connects to its server, and calls every tool.
pub(crate) async fn play(address: &str) -> Done {
    let remote = RemoteServer::http("suite", address).prefix("").questions().trust_hints();
    let remote = remote.limits(|limits| limits.call = Duration::from_secs(20)).connect().await?;
    let tools = remote.toolset();
    for (name, arguments) in wanted(&tools) {
        println!("{name}: {}", outcome(&tools, &name, &arguments.to_string()).await);
    }
    remote.close().await;
    Ok(())
}

/// The calls that the scenario wants, or one of every tool.
fn wanted(tools: &Toolset) -> Vec<(String, Value)> {
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    if let Some(calls) = context["toolCalls"].as_array() {
        let call = |call: &Value| Some((call["name"].as_str()?.to_owned(), call["arguments"].clone()));
        return calls.iter().filter_map(call).collect();
    }
    let call = |tool: &std::sync::Arc<dyn tool_runtime::tool::DynTool>| {
        let schema = tool.spec().input.neutral();
        let mut arguments = made_up(schema);
        if schema["properties"]["schema"]["type"] == "object" {
            // It wants to be told how the schema of another was read.
            let other = tools.get("json_schema_2020_12_tool").map(|other| other.spec().input.neutral().clone());
            arguments["schema"] = other.unwrap_or_default();
        }
        (tool.name().to_owned(), arguments)
    };
    tools.iter().map(call).collect()
}

/// Uses a program as a toolset.
pub(crate) async fn list(command: &str, args: &[&str]) -> Done {
    let remote = RemoteServer::command("peer", command).args(args.iter().copied()).questions();
    let remote: RemoteTools = remote.connect().await?;
    let tools = remote.toolset();
    for refused in remote.refused() {
        println!("refused {}: {}", refused.tool, refused.reason);
    }
    println!("tools {}", tools.names().collect::<Vec<_>>().join(" "));
    for line in std::io::stdin().lines() {
        let line = line?;
        let (name, arguments) = line.split_once(' ').unwrap_or((&line, "{}"));
        println!("{name}: {}", outcome(&tools, name, arguments).await);
    }
    remote.close().await;
    Ok(())
}

/// What comes of a call that a person allows, on one line.
async fn outcome(tools: &Toolset, name: &str, arguments: &str) -> String {
    let agent = Agent::without_model(tools.clone()).front(Agreeable).context(Context::new(""));
    let mut session = agent.session();
    let text = match session.call(name, arguments).await {
        Ok(call) => match call.result() {
            Some(result) if result.is_success() => {
                let text = result.output().map(tool_runtime::Output::text).unwrap_or_default();
                format!("ok {text}")
            }
            Some(result) => format!("failed {}", result.for_people(name, call.may_have_run())),
            None => "waits".to_owned(),
        },
        Err(error) => format!("error {error}"),
    };
    text.replace('\n', " ")
}

/// Somebody who approves everything, and takes the defaults of what is asked.
struct Agreeable;

impl Front for Agreeable {
    fn approve<'a>(
        &'a self,
        _: &'a tool_runtime::agent::ApprovalRequest,
    ) -> futures_util::future::BoxFuture<'a, Decision> {
        Box::pin(async { Decision::Approve })
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> futures_util::future::BoxFuture<'a, Decision> {
        let schema = request.question.schema.clone().unwrap_or_default();
        Box::pin(async move { Decision::Answer { value: made_up(&schema) } })
    }
}

/// Arguments that fit a simple schema: the defaults, or something of the type.
fn made_up(schema: &Value) -> Value {
    let one = |property: &Value| match property["type"].as_str() {
        _ if !property["default"].is_null() => property["default"].clone(),
        _ if property["enum"].is_array() => property["enum"][0].clone(),
        Some("integer" | "number") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let made: serde_json::Map<String, Value> =
        properties.map(|(name, property)| (name.clone(), one(property))).collect();
    Value::Object(made)
}
