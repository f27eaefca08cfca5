//! Tests of the bytes on a connection. A call gets the same bytes with and without a hook of the agent. The server reports a
//! failure to the model or to the client, whichever can correct it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::Notify;
use tool_runtime::{
    Agent, Content, Context, Failure, Text, Toolset,
    agent::Event,
    message::{Media, Part},
    tool, toolset,
    toolset::{Permission, PolicyCall},
};
use tool_server::mcp::McpServer;

use tool_test_fixtures::declared;
use tool_test_kit::within;

/// Report progress, then draw.
#[tool(effect = read_only)]
async fn draw(#[context] cx: &Context) -> Content {
    cx.report_progress(1.0, Some(2.0), "a dot");
    cx.show_preliminary(json!({ "half": true }));
    Content(vec![Part::text("a dot"), Part::Image(Media::base64("image/png", "aGk="))])
}

/// Fail.
#[tool]
fn fail() -> Result<(), Failure> {
    Err(Failure::new("out of paper"))
}

/// Panic.
#[tool]
fn break_down() -> Text {
    panic!("secret detail")
}

/// Never end.
#[tool(timeout = "20ms")]
async fn slow() -> Text {
    std::future::pending().await
}

/// Ask for a size.
#[tool(effect = read_only)]
async fn ask(#[context] cx: &Context) -> Result<String, Failure> {
    cx.report_progress(1.0, None, "asking");
    cx.ask::<String>("Which size?").await
}

/// Pay.
#[tool(approval = always, effect = destructive)]
fn pay(
    /** The amount. */
    amount: u32,
) -> u32 {
    amount
}

fn tools() -> Toolset {
    let tools = declared::tools().merge(toolset!(draw, fail, break_down, slow, ask, pay)).expect("each name once");
    tools.policy(|call: &PolicyCall<'_>| match call.arguments {
        text if text.contains("13") => Permission::deny("not that"),
        _ => Permission::Allow,
    })
}

/// Report each step of a count, then notify the test.
#[tool(effect = read_only)]
async fn count(#[context] cx: &Context) {
    for at in 0..1000 {
        cx.report_progress(f64::from(at), Some(1000.0), "counting");
        tokio::task::yield_now().await;
    }
    if let Some(over) = cx.get::<Arc<Notify>>() {
        over.notify_one();
    }
}

/// A client that writes and reads lines.
struct LineClient {
    write: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    modern: bool,
    /// Set if the client supports elicitation.
    elicits: bool,
}

impl LineClient {
    async fn connect(server: &McpServer, modern: bool, elicits: bool) -> Self {
        Self::connect_with_buffer(1 << 20, server, modern, elicits).await
    }

    /// Connects over a stream that buffers at most so many bytes.
    async fn connect_with_buffer(bytes: usize, server: &McpServer, modern: bool, elicits: bool) -> Self {
        let (near, far) = duplex(bytes);
        let server = server.clone();
        tokio::spawn(async move {
            let (read, write) = split(far);
            let _ = server.serve_streams(read, write).await;
        });
        let (read, write) = split(near);
        let mut client = Self { write, lines: BufReader::new(read).lines(), modern, elicits };
        if !modern {
            let info = json!({ "name": "wire", "version": "1" });
            let params =
                json!({ "protocolVersion": "2025-11-25", "capabilities": client.capabilities(), "clientInfo": info });
            client.exchange(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        }
        client
    }

    fn capabilities(&self) -> Value {
        if self.elicits { json!({ "elicitation": {} }) } else { json!({}) }
    }

    async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request, and returns all lines up to the response. Declines the server's questions.
    async fn exchange(&mut self, request: &Value) -> Vec<String> {
        self.send(request).await;
        let mut lines = Vec::new();
        loop {
            let line = within("a response", self.lines.next_line()).await.unwrap().expect("a connection");
            let message: Value = serde_json::from_str(&line).unwrap();
            let (is_response, asks) = (message["id"] == request["id"], message["method"] == "elicitation/create");
            if asks {
                let declined = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "action": "decline" } });
                self.send(&declined).await;
            }
            lines.push(line);
            if is_response && !asks {
                return lines;
            }
        }
    }

    async fn call(&mut self, params: &Value, id: u32) -> Vec<String> {
        self.request("tools/call", params, id).await
    }

    async fn request(&mut self, method: &str, params: &Value, id: u32) -> Vec<String> {
        let mut params = params.clone();
        params["_meta"] = json!({ "progressToken": 9 });
        if self.modern {
            let capabilities = self.capabilities();
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        }
        self.exchange(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await
    }
}

/// Returns the lines without their random parts.
fn normalize(lines: &[String]) -> Vec<String> {
    let without_seal = |line: &String| match serde_json::from_str::<Value>(line) {
        Ok(mut message) if message["result"]["requestState"].is_string() => {
            message["result"]["requestState"] = json!("sealed");
            message.to_string()
        }
        _ => line.clone(),
    };
    lines.iter().map(without_seal).collect()
}

#[tokio::test]
async fn a_client_that_does_not_read_delays_no_tool() {
    let over = Arc::new(Notify::new());
    let agent = Agent::tools_only(toolset!(count)).edit_context(|cx| cx.with(Arc::clone(&over)));
    let mut wire = LineClient::connect_with_buffer(4096, &McpServer::of(agent), false, false).await;
    let params = json!({ "name": "count", "_meta": { "progressToken": 9 } });
    wire.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    within("the tool", over.notified()).await;
}

#[tokio::test]
async fn a_run_does_not_change_the_bytes() {
    let deep: Value = serde_json::from_str(&format!("{}1{}", "[".repeat(100), "]".repeat(100))).unwrap();
    let calls = [
        json!({ "name": "add", "arguments": { "a": 2, "b": 3 } }),
        json!({ "name": "add" }),
        json!({ "name": "add", "arguments": { "a": "x", "c": deep } }),
        json!({ "name": "add", "arguments": { "a": 13, "b": 3 } }),
        json!({ "name": "add_up", "arguments": { "numbers": [1, 2] } }),
        json!({ "name": "book_seats", "arguments": { "row": 1, "seats": 9 } }),
        json!({ "name": "book_seats", "arguments": { "row": 1, "seats": 2 } }),
        json!({ "name": "nowhere", "arguments": {} }),
        json!({ "name": "draw", "arguments": {} }),
        json!({ "name": "fail", "arguments": {} }),
        json!({ "name": "break_down", "arguments": {} }),
        json!({ "name": "slow", "arguments": {} }),
        json!({ "name": "ask", "arguments": {} }),
        json!({ "name": "pay", "arguments": { "amount": 5 } }),
        json!({ "name": "ConfirmAction", "arguments": { "action": "it" } }),
        json!({ "name": "add", "arguments": [1] }),
        json!({ "name": "add", "arguments": {}, "requestState": "nothing of ours" }),
    ];
    let runs: Arc<Mutex<Vec<String>>> = Arc::default();
    let received = Arc::clone(&runs);
    let record = move |event: &Event<'_>| {
        if let Event::RunStarted(run) = event {
            received.lock().unwrap().push(run.id().to_string());
        }
    };
    let in_runs = McpServer::of(Agent::tools_only(tools()).hook(record));
    let without_runs = McpServer::new(tools());
    for (modern, elicits) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut one = LineClient::connect(&without_runs, modern, elicits).await;
        let mut other = LineClient::connect(&in_runs, modern, elicits).await;
        for (call, id) in calls.iter().zip(1..) {
            let (one, other) = (one.call(call, id).await, other.call(call, id).await);
            assert_eq!(normalize(&one), normalize(&other), "{call} {modern} {elicits}");
        }
    }
    assert!(runs.lock().unwrap().len() >= 4 * 13, "the second server has made runs: {:?}", runs.lock().unwrap().len());
}

#[tokio::test]
async fn a_failure_reaches_the_model_or_the_client() {
    // The client can correct these, so they are errors of the protocol, whose texts name the remedy.
    let of_the_client = [
        (json!({ "name": "nowhere", "arguments": {} }), "there is no tool called `nowhere`"),
        (json!({ "arguments": {} }), "missing field `name`"),
        (json!({ "name": 5, "arguments": {} }), "expected a string"),
        (json!({ "name": "add", "arguments": [1] }), "expected a map"),
        (json!({ "name": "add", "arguments": "{}" }), "expected a map"),
        (json!({ "name": "add", "inputResponses": 5 }), "expected a map"),
        (json!({ "name": "add", "requestState": 5 }), "expected a string"),
        (json!({ "name": "add", "requestState": "nothing of ours" }), "the requestState cannot be used"),
    ];
    // The model can correct these, so they are results, which it reads.
    let of_the_model = [
        (json!({ "name": "add" }), "missing"),
        (json!({ "name": "add", "arguments": { "a": "x", "b": 1 } }), "a whole number"),
        (json!({ "name": "add", "arguments": { "a": 13, "b": 3 } }), "a policy does not allow the call"),
        (json!({ "name": "book_seats", "arguments": { "row": 1, "seats": 9 } }), "choose from 2"),
        (json!({ "name": "fail" }), "out of paper"),
        (json!({ "name": "break_down" }), "the tool"),
        (json!({ "name": "slow" }), "did not answer within 0.02 s"),
    ];
    for modern in [false, true] {
        let mut wire = LineClient::connect(&McpServer::new(tools()), modern, false).await;
        for ((params, part), id) in of_the_client.iter().zip(1..) {
            let response: Value = serde_json::from_str(&wire.call(params, id).await[0]).unwrap();
            let reason = response["error"]["message"].as_str().unwrap_or_default();
            assert_eq!(
                (&response["error"]["code"], reason.contains(part)),
                (&json!(-32602), true),
                "{params}: {response}"
            );
        }
        for ((params, part), id) in of_the_model.iter().zip(100..) {
            let response: Value = serde_json::from_str(&wire.call(params, id).await[0]).unwrap();
            let content = response["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(response["result"]["isError"] == true && content.contains(part), "{params}: {response}");
        }
        let unknown = wire.request("tools/guess", &json!({}), 200).await;
        assert!(unknown[0].contains("-32601"), "{unknown:?}");
        let nowhere = wire.request("tools/list", &json!({ "cursor": "x" }), 201).await;
        assert!(nowhere[0].contains("-32602") && nowhere[0].contains("list the tools anew"), "{nowhere:?}");
    }
}
