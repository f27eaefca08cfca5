//! Messages of MCP clients. The first line is `lines` or `http`. Each other line is a message of the client; over HTTP, a method and
//! a body. `$state` stands for the last state of an unfinished call, `$task` for the id of the last task, and `"$ask"` for the id of
//! the last question.
//!
//! A request gets at most one response, and no message ends the server. A tool runs only if a message approves.

#![no_main]

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    body::Body,
    http::{HeaderValue, Method, Request},
};
use futures_util::StreamExt;
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tool_runtime::{Agent, Context, Failure, Provide, Toolset, tool, toolset};
use tool_server::mcp::{McpServer, server::TaskSupport};
use tower::ServiceExt;

/// The maximum number of messages of an input.
const MAX_MESSAGES: usize = 12;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tool_fuzz::mutate_lines(data, size, max_size, seed)
});

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = str::from_utf8(data) else { return Corpus::Reject };
    let wiped = Arc::new(AtomicUsize::new(0));
    let agent = Agent::tools_only(tools(&wiped));
    let server = McpServer::of(agent).page_size(2).tasks(|spec| match spec.name.as_str() {
        "wait" => TaskSupport::Required,
        "add" => TaskSupport::Optional,
        _ => TaskSupport::Forbidden,
    });
    let (kind, messages) = text.split_once('\n').unwrap_or_default();
    let messages: Vec<&str> = messages.lines().take(MAX_MESSAGES).collect();
    match kind {
        "lines" => tool_fuzz::runtime().block_on(over_lines(&server, &messages)),
        // The library of the streams compares the runtime's clock with the system's, so this one may not jump.
        "http" => tool_fuzz::real_time().block_on(over_http(&server, &messages)),
        _ => return Corpus::Reject,
    }
    let approves = messages.iter().any(|message| {
        let json = &message[message.find('{').unwrap_or(message.len())..];
        serde_json::from_str::<Value>(json).map_or((*message).to_owned(), |value| value.to_string()).contains("approve")
    });
    assert!(approves || wiped.load(Ordering::SeqCst) == 0, "a tool ran without an approval");
    Corpus::Keep
});

/// What the server has sent that later messages refer to.
#[derive(Default)]
struct Seen {
    state: String,
    task: String,
    question: String,
    /// The number of responses to each id.
    responses: HashMap<String, usize>,
}

impl Seen {
    fn fill(&self, message: &str) -> String {
        let question = if self.question.is_empty() { "0" } else { &self.question };
        let message = message.replace("$state", &self.state).replace("$task", &self.task).replace("\"$ask\"", question);
        tool_fuzz::show(&message);
        message
    }

    fn receive(&mut self, text: &str) {
        tool_fuzz::show(text);
        for line in text.lines() {
            let line = line.strip_prefix("data:").unwrap_or(line).trim_start();
            let Ok(message) = serde_json::from_str::<Value>(line) else {
                assert!(!line.starts_with('{'), "a message is JSON: {line}");
                continue;
            };
            if let Some(state) = message["result"]["requestState"].as_str() {
                state.clone_into(&mut self.state);
            }
            let result = &message["result"];
            if let Some(task) = result["taskId"].as_str().or(result["task"]["taskId"].as_str()) {
                task.clone_into(&mut self.task);
            }
            if message.get("method").is_some() && message.get("id").is_some() {
                self.question = message["id"].to_string();
            } else if let Some(id) = message.get("id").filter(|id| !id.is_null()) {
                *self.responses.entry(id.to_string()).or_default() += 1;
            }
        }
    }
}

/// Returns how many requests of a text have this id.
fn count_ids(messages: &[String], id: &str) -> usize {
    let id_of = |message: &String| {
        Some(serde_json::from_str::<Value>(message.trim_start_matches('\u{feff}')).ok()?.get("id")?.to_string())
    };
    messages.iter().filter(|message| id_of(message).as_deref() == Some(id)).count()
}

async fn over_lines(server: &McpServer, messages: &[&str]) {
    let (near, far) = duplex(1 << 20);
    let (read, write) = split(far);
    let server = server.clone();
    let serving = tokio::spawn(async move { server.serve_streams(read, write).await });
    let (mut read, mut write) = split(near);
    let (mut seen, mut sent) = (Seen::default(), Vec::new());
    let mut buffer = vec![0; 1 << 20];
    for message in messages {
        let message = seen.fill(message);
        if write.write_all(format!("{message}\n").as_bytes()).await.is_err() {
            break;
        }
        sent.push(message);
        let mut text = Vec::new();
        while let Ok(Ok(count @ 1..)) = tokio::time::timeout(Duration::from_millis(10), read.read(&mut buffer)).await {
            text.extend_from_slice(&buffer[..count]);
        }
        seen.receive(str::from_utf8(&text).expect("messages are UTF-8"));
    }
    let _ = write.shutdown().await;
    let mut text = Vec::new();
    // A call may take its time before the server ends.
    let rest = tokio::time::timeout(Duration::from_secs(3600), read.read_to_end(&mut text)).await;
    rest.expect("the server ends after its client").expect("a whole stream");
    seen.receive(&String::from_utf8_lossy(&text));
    let ended = tokio::time::timeout(Duration::from_secs(3600), serving).await.expect("the server ends");
    let _ = ended.expect("the server does not panic");
    for (id, count) in &seen.responses {
        assert!(*count <= count_ids(&sent, id).max(1), "{count} responses to {id}");
    }
}

async fn over_http(server: &McpServer, messages: &[&str]) {
    let router = server.http().router();
    let (mut seen, mut session) = (Seen::default(), None::<HeaderValue>);
    for message in messages {
        let (method, body) = message.split_once(' ').unwrap_or((message, ""));
        let Ok(method) = method.parse::<Method>() else { continue };
        let body = seen.fill(body);
        let request = request_of(method, body, session.as_ref());
        let answer = async {
            let response = router.clone().oneshot(request).await.expect("a router does not fail");
            let (head, body) = response.into_parts();
            // The stream of a session has no end.
            let mut frames = body.into_data_stream();
            let mut read = Vec::new();
            while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(5), frames.next()).await {
                read.extend_from_slice(&frame.expect("a whole body"));
            }
            (head, read)
        };
        let (head, body) = tokio::time::timeout(Duration::from_secs(8), answer).await.expect("a response begins");
        assert!(head.status.as_u16() < 500 || head.status.as_u16() == 501, "{}: {body:?}", head.status);
        if let Some(new) = head.headers.get("mcp-session-id") {
            session = Some(new.clone());
        }
        seen.receive(str::from_utf8(&body).expect("bodies are UTF-8"));
    }
}

/// Returns a request with the headers that the body asks for.
fn request_of(method: Method, body: String, session: Option<&HeaderValue>) -> Request<Body> {
    let message = serde_json::from_str::<Value>(&body).unwrap_or_default();
    let params = &message["params"];
    let version = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    let mut request = Request::builder().method(method).uri("http://localhost/mcp");
    request =
        request.header("content-type", "application/json").header("accept", "application/json, text/event-stream");
    let headers = [
        ("mcp-protocol-version", version),
        ("mcp-method", message["method"].as_str().filter(|_| version.is_some())),
        ("mcp-name", params["name"].as_str().filter(|_| version.is_some())),
    ];
    for (name, value) in headers {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            request = request.header(name, value);
        }
    }
    if let Some(session) = session.filter(|_| version.is_none()) {
        request = request.header("mcp-session-id", session);
    }
    request.body(Body::from(body)).expect("a request")
}

#[derive(Provide)]
struct State {
    wiped: Arc<AtomicUsize>,
}

fn tools(wiped: &Arc<AtomicUsize>) -> Toolset {
    toolset!(State { wiped: Arc::clone(wiped) }; wipe, greet, add, wait)
}

/// Wipe the disk.
#[tool(effect = destructive, approval = always, challenge = "Wipe {disk}?")]
fn wipe(
    /// The disk.
    disk: String,
    #[state] wiped: &Arc<AtomicUsize>,
) -> String {
    wiped.fetch_add(1, Ordering::SeqCst);
    format!("wiped {disk}")
}

/// Greet the user in two steps.
#[tool(effect = read_only)]
async fn greet(#[context] cx: &Context) -> Result<String, Failure> {
    let name: String = cx.ask("Who?").await?;
    cx.report_progress(1.0, Some(2.0), "asked");
    cx.request_approval(format!("Greet {name}?")).await?;
    Ok(format!("Hello, {name}!"))
}

/// Add up numbers.
#[tool(effect = read_only)]
fn add(
    /// The numbers.
    numbers: Vec<i64>,
) -> i64 {
    numbers.into_iter().fold(0, i64::saturating_add)
}

/// Wait.
#[tool(effect = read_only)]
async fn wait(
    /// The number of milliseconds.
    #[arg(range(..=60))]
    milliseconds: u64,
) -> u64 {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    milliseconds
}
