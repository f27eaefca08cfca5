//! Tests of the addresses at which a service listens, and of its end.

use std::{
    future::pending,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tool_runtime::{
    Agent,
    model::{Delta, FunctionModel, Turn},
    tool, toolset,
};
use tool_server::{AllowAnonymous, BearerToken, Server};

use crate::guard::kit::{chat, post, send, server};

/// Checks that `serve` refuses the listener, with an error that names the remedy.
async fn assert_refused(serving: impl Future<Output = io::Result<()>>) {
    let error = serving.await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let text = error.to_string();
    for part in ["0.0.0.0:", "not loopback", "`BearerToken`", "`authenticate(AllowAnonymous(…))`"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

/// A server ends in time, although one client does not read its endless response, and one listens on a merged MCP service.
#[tokio::test]
async fn serving_ends_within_its_grace() {
    let model = FunctionModel::streaming(|_| {
        stream::repeat_with(|| Ok(Delta::Text("word ".repeat(1000)))).then(async |delta| {
            tokio::task::yield_now().await;
            delta
        })
    });
    let server = Server::new(Agent::new(model)).grace(Duration::from_millis(500));
    #[cfg(feature = "mcp")]
    let server = server.merge(tool_server::mcp::McpServer::new(tool_runtime::Toolset::new()).http().router());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(listener, async { stopped.await.unwrap_or_default() }));
    let open = async |request: &str, body: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: \
                            application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut head = vec![0; 64];
        let read = stream.read_exact(&mut head).await.unwrap();
        assert!(read > 0 && head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        stream
    };
    let _unread = open("POST /api/chat", &chat().to_string()).await;
    #[cfg(feature = "mcp")]
    let _listening = {
        let hello = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
        let mut begun = open("POST /mcp", &hello.to_string()).await;
        let mut text = Vec::new();
        while !String::from_utf8_lossy(&text).contains("serverInfo") {
            begun.read_buf(&mut text).await.unwrap();
        }
        let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
        let (_, id) = text.split_once("mcp-session-id: ").expect("a session");
        let (id, _) = id.split_once("\r\n").unwrap();
        open(&format!("GET /mcp HTTP/1.1\r\nmcp-session-id: {id}\r\nx-rest:"), "").await
    };
    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(20), serving).await.expect("it ends").unwrap().unwrap();
}

/// Block for a minute.
#[tool(blocking, effect = read_only)]
fn block(#[state] begun: &Semaphore) {
    begun.add_permits(1);
    std::thread::sleep(Duration::from_mins(1));
}

/// Runs a program in a runtime of its own, and checks that both end before its tool does.
fn assert_ends(program: impl Future<Output = ()>) {
    let since = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(program);
    drop(runtime);
    assert!(since.elapsed() < Duration::from_secs(50), "the program waited for its tool");
}

/// A program that receives the signal to end does so, although a tool still blocks.
#[test]
fn a_server_ends_although_a_tool_blocks() {
    assert_ends(async {
        let begun = Arc::new(Semaphore::new(0));
        let model = FunctionModel::new(|_| Turn::call("block", "{}"));
        let server =
            Server::new(Agent::new(model).tools(toolset!(Arc::clone(&begun); block))).grace(Duration::from_millis(300));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(listener, async { stopped.await.unwrap_or_default() }));
        let chatting = tokio::spawn(async move {
            post(address, "/api/chat", "localhost", &chat()).await;
        });
        begun.acquire().await.unwrap().forget();
        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
        chatting.abort();
    });
}

#[cfg(feature = "mcp")]
#[test]
fn a_server_over_stdio_ends_with_its_input_although_a_tool_blocks() {
    assert_ends(async {
        let begun = Arc::new(Semaphore::new(0));
        let server = tool_server::mcp::McpServer::new(toolset!(Arc::clone(&begun); block));
        let (client, pipes) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(pipes);
        let serving =
            tokio::spawn(async move { server.serve_streams(read, write).await.map_err(|error| error.to_string()) });
        let (_answers, mut input) = tokio::io::split(client);
        let hello = serde_json::json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" } });
        for line in [
            serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
            serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "block", "arguments": {} } }),
        ] {
            input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        begun.acquire().await.unwrap().forget();
        input.shutdown().await.unwrap();
        serving.await.unwrap().unwrap();
    });
}

/// Listens on all addresses of this machine.
async fn listen_everywhere() -> TcpListener {
    TcpListener::bind("0.0.0.0:0").await.unwrap()
}

#[tokio::test]
async fn anonymous_callers_are_served_on_loopback_only() {
    assert_refused(server().0.serve(listen_everywhere().await, pending())).await;
    // The names of hosts do not authenticate callers.
    assert_refused(server().0.hosts(["localhost"]).serve(listen_everywhere().await, pending())).await;
    #[cfg(feature = "mcp")]
    {
        let http = tool_server::mcp::McpServer::new(tool_runtime::Toolset::new()).http();
        assert_refused(http.serve(listen_everywhere().await, pending())).await;
    }
}

#[tokio::test]
async fn authentication_opens_other_addresses() {
    let settings: [fn(Server) -> Server; 2] = [
        |server| server.authenticate(BearerToken::of([("s3cret", "anna")])),
        |server| server.authenticate(AllowAnonymous("guest".into())),
    ];
    for (change, status) in settings.into_iter().zip([401, 200]) {
        let listener = listen_everywhere().await;
        let address = ([127, 0, 0, 1], listener.local_addr().unwrap().port()).into();
        tokio::spawn(change(server().0).serve(listener, pending()));
        let response = send(address, "GET /api/tools", &[("host", "localhost")], "").await;
        assert_eq!(response.status, status, "{response:?}");
    }
}
