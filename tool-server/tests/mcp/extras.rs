//! Tests of other messages than calls and texts: logs, sound, files, released connections, and servers' requests that the
//! client refuses.

#![expect(deprecated, reason = "logs are; sessions of revisions up to 2025-11-25 have them")]

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::model::{LoggingLevel, SetLevelRequestParams};
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tool_runtime::{Content, Context, Media, Part, ResourceContents, Text, Toolset, tool, toolset};
use tool_server::mcp::{LogLevel, McpServer, RemoteServer, client::RemoteLog, server::McpClient};
use tool_test_kit::within;

use crate::mcp::{
    kit::{Person, client, params, text, wait_until},
    nonsense::{correct_response, raw_server},
};

fn parts() -> Vec<Part> {
    let resource = |uri: &str, contents| Part::Resource {
        uri: uri.to_owned(),
        media_type: Some("text/plain".to_owned()),
        contents,
    };
    vec![
        Part::text("all of it:"),
        Part::Audio(Media::base64("audio/wav", "UklGRg==")),
        resource("file:///a.txt", ResourceContents::Text("A".to_owned())),
        resource("file:///b.bin", ResourceContents::Base64("AAEC".to_owned())),
    ]
}

/// Return files.
#[tool(effect = read_only)]
fn files() -> Content {
    Content(vec![
        Part::Document(Media::base64("application/pdf", "JVBERi0xLjc=").with_name("a.pdf")),
        Part::Image(Media::url("https://example.com/a.png").with_name("a.png")),
    ])
}

/// Return all kinds of content.
#[tool(effect = read_only)]
fn mixed() -> Content {
    Content(parts())
}

/// Log what it does.
#[tool(effect = read_only)]
async fn talk(#[context] cx: &Context) -> Text {
    let Some(client) = cx.get::<McpClient>() else { return Text("no client".to_owned()) };
    client.log(LogLevel::Debug, "a detail").await;
    client.log(LogLevel::Info, json!({ "files": 3 })).await;
    client.log(LogLevel::Error, "bad\u{1b}[2J").await;
    Text(format!("debug {}, error {}", client.is_enabled(LogLevel::Debug), client.is_enabled(LogLevel::Error)))
}

fn server() -> McpServer {
    McpServer::new(tools())
}

fn tools() -> Toolset {
    toolset!(mixed, files, talk)
}

/// Returns the project's server as a remote server for the project's client.
fn remote(server: &McpServer) -> RemoteServer {
    let server = server.clone();
    let open = move || {
        let (near, far) = duplex(1 << 20);
        let server = server.clone();
        tokio::spawn(async move {
            let (read, write) = split(far);
            let _ = server.serve_streams(read, write).await;
        });
        async move { io::Result::Ok(split(near)) }
    };
    RemoteServer::streams("far", open).allow(["mixed", "files", "talk"])
}

#[tokio::test]
async fn sound_and_files_go_through_unchanged() {
    let tools = remote(&server()).connect().await.unwrap().toolset();
    let output = tools.call("far_mixed", "{}", &Context::new("1")).await.unwrap();
    assert_eq!(output.for_model(), parts());
    assert_eq!(output.text(), "all of it:\nA");
}

/// A document is an embedded resource, and an address is a link, which the client shows to the model as a text.
#[tokio::test]
async fn documents_and_addresses_have_other_forms() {
    let tools = remote(&server()).connect().await.unwrap().toolset();
    let output = tools.call("far_files", "{}", &Context::new("1")).await.unwrap();
    let document = Part::Resource {
        uri: "attachment:a.pdf".to_owned(),
        media_type: Some("application/pdf".to_owned()),
        contents: ResourceContents::Base64("JVBERi0xLjc=".to_owned()),
    };
    assert_eq!(output.for_model(), [document, Part::text("https://example.com/a.png (a.png)")]);
}

#[tokio::test]
async fn sessions_receive_the_log_levels_that_they_set() {
    let (server, person) = (server(), Person::new(None));
    let client = client(&server, person.clone(), false).await;
    let call = || async { text(&client.call_tool(params("talk", json!({}))).await.unwrap()) };
    assert_eq!(call().await, "debug false, error true");
    wait_until("both were received", || person.received().len() == 2).await;
    assert_eq!(person.received(), [r#"Info {"files":3}"#, "Error \"bad\\u001b[2J\""]);
    client.set_level(SetLevelRequestParams::new(LoggingLevel::Debug)).await.unwrap();
    assert_eq!(call().await, "debug true, error true");
    wait_until("all three were received", || person.received().len() == 5).await;
}

#[tokio::test]
async fn without_sessions_only_requests_with_a_level_receive_logs() {
    let (server, person) = (server(), Person::new(None));
    let client = client(&server, person.clone(), true).await;
    let result = client.call_tool(params("talk", json!({}))).await.unwrap();
    assert_eq!(text(&result), "debug false, error false");
    assert!(person.received().is_empty(), "{:?}", person.received());
}

#[tokio::test]
async fn a_remote_servers_logs_are_untrusted() {
    let received: Arc<Mutex<Vec<RemoteLog>>> = Arc::default();
    let record = {
        let received = Arc::clone(&received);
        move |log| received.lock().unwrap_or_else(PoisonError::into_inner).push(log)
    };
    let tools = remote(&server()).logs(LogLevel::Info, record).connect().await.unwrap().toolset();
    tools.call("far_talk", "{}", &Context::new("1")).await.unwrap();
    wait_until("two were received", || received.lock().unwrap().len() == 2).await;
    let received = received.lock().unwrap();
    assert_eq!((received[0].level, received[0].text.as_str()), (LogLevel::Info, r#"{"files":3}"#));
    assert_eq!((received[1].level, received[1].text.contains('\u{1b}')), (LogLevel::Error, false));
    assert!(received[1].to_string().starts_with("far error: bad"), "{}", received[1]);
}

/// Returns the client's response to a server that requests `method`, which the client does not offer.
async fn refuse(method: &'static str, params: Value) -> String {
    let call: Arc<Mutex<Value>> = Arc::default();
    let server = raw_server(move |line| match line["method"].as_str() {
        Some("tools/call") => {
            *call.lock().unwrap() = line.clone();
            format!("{}\n", json!({ "jsonrpc": "2.0", "id": 77, "method": method, "params": params }))
        }
        Some(_) => correct_response(line, ""),
        None => {
            let result = json!({ "content": [{ "type": "text", "text": line.to_string() }] });
            correct_response(&call.lock().unwrap(), &result.to_string())
        }
    });
    let tools = server.connect().await.unwrap().toolset();
    tools.call("far_t", "{}", &Context::new("1")).await.unwrap().text()
}

#[tokio::test]
async fn requests_that_the_client_does_not_offer_are_refused() {
    let message =
        json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "Hi" } }], "maxTokens": 9 });
    let form = json!({ "message": "Your password?", "requestedSchema": { "type": "object", "properties": {} } });
    let requests = [("sampling/createMessage", message), ("roots/list", json!({})), ("elicitation/create", form)];
    for (method, params) in requests {
        let response: Value = serde_json::from_str(&refuse(method, params).await).unwrap();
        assert_eq!(response["error"]["code"], -32601, "{response}");
    }
}

#[tokio::test]
async fn without_sessions_requests_for_sampling_and_roots_end_the_call() {
    for (method, part) in [("sampling/createMessage", "a model"), ("roots/list", "directories")] {
        let server = raw_server(move |line| match line["method"].as_str() {
            Some("server/discover") => {
                let found = json!({
                    "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }, "resultType": "complete",
                    "serverInfo": { "name": "x", "version": "1" },
                });
                format!("{}\n", json!({ "jsonrpc": "2.0", "id": line["id"], "result": found }))
            }
            _ => {
                let params = json!({ "messages": [], "maxTokens": 9 });
                let result = json!({ "resultType": "input_required", "requestState": "s",
                    "inputRequests": { "a": { "method": method, "params": params } } });
                correct_response(line, &result.to_string())
            }
        });
        let tools = server.connect().await.unwrap().toolset();
        let error = tools.call("far_t", "{}", &Context::new("1")).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// Release the connection, and take a while.
#[tool(effect = read_only)]
async fn slow(
    /** Milliseconds. */
    wait: u64,
    #[context] cx: &Context,
) -> Text {
    let released = cx.get::<McpClient>().is_some_and(|client| client.release(Duration::from_millis(50)));
    tokio::time::sleep(Duration::from_millis(wait)).await;
    Text(format!("released: {released}"))
}

#[tokio::test]
async fn a_released_client_comes_back_for_the_rest() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(McpServer::new(toolset!(slow)).http().serve(listener, std::future::pending()));
    let url = format!("http://{address}/mcp");
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let http = crate::mcp::http_client();
    let send = |session: Option<String>, body: Value| {
        let request = headers.iter().fold(http.post(&url), |request, (name, value)| request.header(*name, *value));
        let request = session.into_iter().fold(request, |request, id| request.header("mcp-session-id", id));
        request.body(body.to_string()).send()
    };
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let begun = send(None, hello).await.unwrap();
    let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    send(Some(session.clone()), json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await.unwrap();
    // The result may be ready before the client comes back, or after.
    for (wait, pause) in [(0, 200), (300, 0)] {
        let params = json!({ "name": "slow", "arguments": { "wait": wait } });
        let call = json!({ "jsonrpc": "2.0", "id": wait + 2, "method": "tools/call", "params": params });
        let first = send(Some(session.clone()), call).await.unwrap().text().await.unwrap();
        assert!(!first.contains("released") && first.contains("retry: 50"), "{first}");
        let last = first.lines().filter_map(|line| line.strip_prefix("id:")).next_back().unwrap().trim().to_owned();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let rest = http.get(&url).header("accept", "text/event-stream").header("mcp-session-id", &session);
        let rest = rest.header("last-event-id", last).send().await.unwrap();
        let rest = within("the rest", rest.text()).await.unwrap();
        assert!(rest.contains("released: true"), "{rest}");
    }
}
