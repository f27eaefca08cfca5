//! Bytes on the connection. Calls that need no run and the same calls in a run are answered with the same bytes. A
//! failure is reported to the model or to the client, depending on which of them can correct it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::Notify;
use tool_runtime::{
    Agent, Content, Context, Failure, Text, Toolset,
    agent::Event,
    message::Part,
    tool, toolset,
    toolset::{Permission, ProposedCall},
};
use tool_server::mcp::McpServer;

use tool_test_fixtures::declared;
use tool_test_kit::within;

/// Draws and says so, and reports before.
#[tool(effect = read_only)]
async fn draw(#[context] cx: &Context) -> Content {
    cx.progress(1.0, Some(2.0), "a dot");
    cx.preliminary(json!({ "half": true }));
    Content(vec![Part::text("a dot"), Part::Image { media_type: "image/png".to_owned(), data: "aGk=".to_owned() }])
}

/// Fails.
#[tool]
fn fail() -> Result<(), Failure> {
    Err(Failure::new("out of paper"))
}

/// Panics.
#[tool]
fn break_down() -> Text {
    panic!("secret detail")
}

/// Never ends.
#[tool(timeout = "20ms")]
async fn slow() -> Text {
    std::future::pending().await
}

/// Asks.
#[tool(effect = read_only)]
async fn ask(#[context] cx: &Context) -> Result<String, Failure> {
    cx.progress(1.0, None, "asking");
    cx.ask::<String>("Which size?").await
}

/// Pays.
#[tool(approval = always, effect = destructive)]
fn pay(
    /** The amount. */
    amount: u32,
) -> u32 {
    amount
}

fn tools() -> Toolset {
    let tools = declared::tools().merge(toolset!(draw, fail, break_down, slow, ask, pay)).expect("each name once");
    tools.policy(|call: &ProposedCall<'_>| match call.arguments {
        text if text.contains("13") => Permission::deny("not that"),
        _ => Permission::Allow,
    })
}

/// Counts aloud, and says when it has.
#[tool(effect = read_only)]
async fn count(#[context] cx: &Context) {
    for at in 0..1000 {
        cx.progress(f64::from(at), Some(1000.0), "counting");
        tokio::task::yield_now().await;
    }
    if let Some(over) = cx.get::<Arc<Notify>>() {
        over.notify_one();
    }
}

/// A client that writes and reads lines.
struct Encoder {
    write: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    modern: bool,
    asks: bool,
}

impl Encoder {
    async fn open(server: &McpServer, modern: bool, asks: bool) -> Self {
        Self::open_within(1 << 20, server, modern, asks).await
    }

    /// With so many bytes on the way at most.
    async fn open_within(bytes: usize, server: &McpServer, modern: bool, asks: bool) -> Self {
        let (near, far) = duplex(bytes);
        let server = server.clone();
        tokio::spawn(async move {
            let (read, write) = split(far);
            let _ = server.connection(read, write).await;
        });
        let (read, write) = split(near);
        let mut wire = Self { write, lines: BufReader::new(read).lines(), modern, asks };
        if !modern {
            let client = json!({ "name": "wire", "version": "1" });
            let params =
                json!({ "protocolVersion": "2025-11-25", "capabilities": wire.capabilities(), "clientInfo": client });
            wire.ask(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
            wire.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        }
        wire
    }

    fn capabilities(&self) -> Value {
        if self.asks { json!({ "elicitation": {} }) } else { json!({}) }
    }

    async fn say(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// All lines up to the answer. A question of the server's is declined.
    async fn ask(&mut self, request: &Value) -> Vec<String> {
        self.say(request).await;
        let mut lines = Vec::new();
        loop {
            let line = within("an answer", self.lines.next_line()).await.unwrap().expect("a connection");
            let message: Value = serde_json::from_str(&line).unwrap();
            let (is_answer, asks) = (message["id"] == request["id"], message["method"] == "elicitation/create");
            if asks {
                let declined = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "action": "decline" } });
                self.say(&declined).await;
            }
            lines.push(line);
            if is_answer && !asks {
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
        self.ask(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await
    }
}

/// The lines without what is random in them.
fn comparable(lines: &[String]) -> Vec<String> {
    let unsealed = |line: &String| match serde_json::from_str::<Value>(line) {
        Ok(mut message) if message["result"]["requestState"].is_string() => {
            message["result"]["requestState"] = json!("sealed");
            message.to_string()
        }
        _ => line.clone(),
    };
    lines.iter().map(unsealed).collect()
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_no_tool_up() {
    let over = Arc::new(Notify::new());
    let agent = Agent::without_model(toolset!(count)).edit_context(|cx| cx.with(Arc::clone(&over)));
    let mut wire = Encoder::open_within(4096, &McpServer::of(agent), false, false).await;
    let params = json!({ "name": "count", "_meta": { "progressToken": 9 } });
    wire.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    within("the tool", over.notified()).await;
}

#[tokio::test]
async fn a_run_makes_no_difference_on_the_line() {
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
    let hear = move |event: &Event<'_>| {
        if let Event::RunStarted(run) = event {
            received.lock().unwrap().push(run.id().to_string());
        }
    };
    let in_runs = McpServer::of(Agent::without_model(tools()).hooks(hear));
    let alone = McpServer::new(tools());
    for (modern, asks) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut one = Encoder::open(&alone, modern, asks).await;
        let mut other = Encoder::open(&in_runs, modern, asks).await;
        for (call, id) in calls.iter().zip(1..) {
            let (one, other) = (one.call(call, id).await, other.call(call, id).await);
            assert_eq!(comparable(&one), comparable(&other), "{call} {modern} {asks}");
        }
    }
    assert!(runs.lock().unwrap().len() >= 4 * 13, "the second server has made runs: {:?}", runs.lock().unwrap().len());
}

#[tokio::test]
async fn a_failure_reaches_the_model_or_the_client() {
    // Of the client, and so errors of the protocol; the text says what to do.
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
    // Of the model, which reads results.
    let of_the_model = [
        (json!({ "name": "add" }), "missing"),
        (json!({ "name": "add", "arguments": { "a": "x", "b": 1 } }), "a whole number"),
        (json!({ "name": "add", "arguments": { "a": 13, "b": 3 } }), "a policy does not allow the call"),
        (json!({ "name": "book_seats", "arguments": { "row": 1, "seats": 9 } }), "allowedValues"),
        (json!({ "name": "fail" }), "out of paper"),
        (json!({ "name": "break_down" }), "the tool"),
        (json!({ "name": "slow" }), "did not answer within 0.02 s"),
    ];
    for modern in [false, true] {
        let mut wire = Encoder::open(&McpServer::new(tools()), modern, false).await;
        for ((params, part), id) in of_the_client.iter().zip(1..) {
            let answer: Value = serde_json::from_str(&wire.call(params, id).await[0]).unwrap();
            let reason = answer["error"]["message"].as_str().unwrap_or_default();
            assert_eq!((&answer["error"]["code"], reason.contains(part)), (&json!(-32602), true), "{params}: {answer}");
        }
        for ((params, part), id) in of_the_model.iter().zip(100..) {
            let answer: Value = serde_json::from_str(&wire.call(params, id).await[0]).unwrap();
            let content = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(answer["result"]["isError"] == true && content.contains(part), "{params}: {answer}");
        }
        let unknown = wire.request("tools/guess", &json!({}), 200).await;
        assert!(unknown[0].contains("-32601"), "{unknown:?}");
        let nowhere = wire.request("tools/list", &json!({ "cursor": "x" }), 201).await;
        assert!(nowhere[0].contains("-32602") && nowhere[0].contains("list the tools anew"), "{nowhere:?}");
    }
}
