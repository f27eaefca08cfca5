//! A server with a tool that must not run, and raw requests to it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::Router;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tool_runtime::{
    Agent, Message, Provide,
    model::{Delta, FinishReason, FunctionModel},
    tool, toolset,
};
use tool_server::{AgUi, BearerToken, DEFAULT_GRACE, Server, serve};

#[derive(Provide)]
struct Disk {
    deleted: Arc<AtomicUsize>,
}

/// Delete a file.
#[tool(effect = destructive, approval = always)]
fn delete_file(
    /// Its name.
    name: String,
    #[state] deleted: &Arc<AtomicUsize>,
) -> String {
    deleted.fetch_add(1, Ordering::SeqCst);
    format!("{name} is deleted")
}

/// Returns a server whose model wants to delete a file, and the number of files that were deleted.
pub(crate) fn server() -> (Server, Arc<AtomicUsize>) {
    let deleted = Arc::new(AtomicUsize::new(0));
    let state = Disk { deleted: Arc::clone(&deleted) };
    let model = FunctionModel::streaming(|request| {
        let deltas = if matches!(request.messages.last(), Some(Message::Tool(_))) {
            vec![Delta::Text("Done.".to_owned()), Delta::Finish(FinishReason::Stop)]
        } else {
            vec![
                Delta::CallStart { index: 0, id: "c1".to_owned(), name: "delete_file".to_owned() },
                Delta::CallArguments { index: 0, text: r#"{"name":"thesis.txt"}"#.to_owned() },
                Delta::CallEnd { index: 0 },
                Delta::Finish(FinishReason::ToolCalls),
            ]
        };
        stream::iter(deltas.into_iter().map(Ok))
    });
    let agent = Agent::new(model).tools(toolset!(state; delete_file));
    (Server::new(agent).ag_ui(AgUi::new()), deleted)
}

/// Returns the routes of every HTTP service of this crate in one router. If `token` is set, each needs it. Requests have at most
/// 1,000 bytes.
pub(crate) fn surfaces(token: Option<&str>) -> Router {
    surfaces_for(&[], token)
}

/// Returns the routes of [`surfaces`], which pages of these origins may use.
pub(crate) fn surfaces_for(origins: &[&str], token: Option<&str>) -> Router {
    let server = server().0.max_body_bytes(1000).origins(origins).unwrap();
    #[cfg(feature = "mcp")]
    let mcp = tool_server::mcp::McpServer::new(toolset!(now)).http().max_body_bytes(1000).origins(origins).unwrap();
    let Some(token) = token else {
        #[cfg(feature = "mcp")]
        let server = server.merge(mcp.router());
        return server.router();
    };
    let users = BearerToken::of([(token, "anna")]);
    #[cfg(feature = "mcp")]
    let server = server.merge(mcp.authenticate(users.clone()).router());
    server.authenticate(users).router()
}

/// Tell the time.
#[cfg(feature = "mcp")]
#[tool(effect = read_only)]
fn now() -> &'static str {
    "noon"
}

/// Serves the routes on a free port of loopback.
pub(crate) async fn listen(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, router, std::future::pending(), DEFAULT_GRACE));
    address
}

/// The response to a request.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The status line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    /// Returns the events of a stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|text| serde_json::from_str(text).ok()).collect()
    }

    /// Returns `true` if there is a header of this name and value.
    pub(crate) fn has(&self, name: &str, value: &str) -> bool {
        self.head.lines().any(|line| line.split_once(": ") == Some((name, value)))
    }

    /// Checks that the request was refused with the project's form of errors, and that the message contains all `parts`.
    #[track_caller]
    pub(crate) fn assert_refused(&self, status: u16, code: &str, parts: &[&str]) {
        assert_eq!(self.status, status, "{self:?}");
        let body: Value = serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert_eq!(body["error"]["code"], code, "{self:?}");
        let message = body["error"]["message"].as_str().unwrap_or_default();
        assert!(parts.iter().all(|part| message.contains(part)), "{parts:?} is not in: {message}");
    }
}

/// Sends a request with these headers. Adds only `connection: close` and the body's framing: chunks, or a `content-length`.
pub(crate) async fn begin(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> TcpStream {
    let body = body.as_ref();
    let mut lines = vec![format!("{line} HTTP/1.1"), "connection: close".to_owned()];
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    let is_chunked = headers.iter().any(|(name, _)| *name == "transfer-encoding");
    let chunk = |body: &[u8]| [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
    let body = if is_chunked { chunk(body) } else { body.to_vec() };
    if !is_chunked && !body.is_empty() && !headers.iter().any(|(name, _)| *name == "content-length") {
        lines.push(format!("content-length: {}", body.len()));
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&[lines.join("\r\n").as_bytes(), b"\r\n\r\n", &body].concat()).await.unwrap();
    stream
}

/// Reads the whole response.
pub(crate) async fn finish(mut stream: TcpStream) -> Response {
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();
    let response = String::from_utf8(response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {response:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Response { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// Sends a request like [`begin`], and reads the whole response.
pub(crate) async fn send(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Response {
    finish(begin(address, line, headers, body).await).await
}

/// Sends JSON, with this name of the host.
pub(crate) async fn post(address: SocketAddr, path: &str, host: &str, body: &Value) -> Response {
    let headers = [("host", host), ("content-type", "application/json")];
    send(address, &format!("POST {path}"), &headers, &body.to_string()).await
}

fn prompt() -> Value {
    json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Clean up." }] })
}

/// Returns the body of a new chat of the AI SDK.
pub(crate) fn chat() -> Value {
    json!({ "id": "chat", "messages": [prompt()] })
}

/// Returns the body that gives the approval that a response requests, or a made-up approval if it requests none.
pub(crate) fn chat_approval(asked: &Response) -> Value {
    let asked = asked.events().into_iter().find(|event| event["type"] == "tool-approval-request").unwrap_or_default();
    let part = json!({
        "type": "tool-delete_file",
        "toolCallId": asked["toolCallId"],
        "state": "approval-responded",
        "input": { "name": "thesis.txt" },
        "approval": { "id": asked["approvalId"], "approved": true },
    });
    let message = json!({ "id": "a1", "role": "assistant", "parts": [{ "type": "step-start" }, part] });
    json!({ "id": "chat", "messages": [prompt(), message] })
}

fn run_input() -> Value {
    json!({
        "threadId": "thread", "runId": "run", "protocolVersion": "1.0",
        "messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {},
    })
}

/// Returns the body of a new thread of AG-UI.
pub(crate) fn run() -> Value {
    let mut input = run_input();
    input["messages"] = json!([{ "id": "m1", "role": "user", "content": "Clean up." }]);
    input
}

/// Returns the body that approves the interrupt of a run, or a made-up interrupt if there is none.
pub(crate) fn run_approval(asked: &Response) -> Value {
    let asked = asked.events().into_iter().find(|event| event["type"] == "RUN_FINISHED").unwrap_or_default();
    let id = &asked["outcome"]["interrupts"][0]["id"];
    let mut input = run_input();
    input["resume"] = json!([{ "interruptId": id, "status": "resolved", "payload": { "approved": true } }]);
    input
}
