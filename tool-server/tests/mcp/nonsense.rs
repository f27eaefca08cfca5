//! Tests of servers that do not follow the protocol.

use std::{io, time::Duration};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
use tool_runtime::Context;
use tool_server::mcp::RemoteServer;
use tool_test_kit::within;

/// Returns a server that responds to each request with the text of `respond`.
pub(crate) fn raw_server(respond: impl Fn(&Value) -> String + Clone + Send + Sync + 'static) -> RemoteServer {
    let open = move || {
        let respond = respond.clone();
        async move {
            let (near, far) = duplex(1 << 20);
            tokio::spawn(async move {
                let (read, mut write) = split(far);
                let mut lines = BufReader::new(read).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let Ok(request) = serde_json::from_str::<Value>(&line) else { return };
                    if request.get("id").is_some() && write.write_all(respond(&request).as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
            io::Result::Ok(split(near))
        }
    };
    RemoteServer::streams("far", open).limits(|limits| {
        limits.connect = Duration::from_secs(10);
        limits.call = Duration::from_secs(10);
    })
}

/// Returns the line of a correct response, which has the result `call` if the request is a call.
pub(crate) fn correct_response(request: &Value, call: &str) -> String {
    let result = match request["method"].as_str() {
        Some("initialize") => {
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "x", "version": "1" } })
                .to_string()
        }
        Some("tools/list") => json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] }).to_string(),
        Some("tools/call") => call.to_owned(),
        _ => {
            return format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"no"}}}}{}"#, request["id"], '\n');
        }
    };
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}{}"#, request["id"], '\n')
}

#[tokio::test]
async fn invalid_results_are_failures() {
    let results = [
        "null".to_owned(),
        r#"{"content":"#.to_owned(),
        format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "y".repeat(20_000_000)),
    ];
    for result in results {
        let start: String = result.chars().take(40).collect();
        // For some of these results, the client waits in vain for the rest.
        let server = raw_server(move |request| correct_response(request, &result))
            .limits(|limits| limits.call = Duration::from_millis(500));
        let remote = server.connect().await.unwrap();
        let called = within("a call", remote.toolset().call("far_t", "{}", &Context::new("1"))).await;
        assert!(called.is_err(), "{start}");
    }
}

#[tokio::test]
async fn a_server_that_sends_nothing_or_nonsense_is_an_error() {
    for line in ["", "\n", "hello\n", "{}\n"] {
        let server = raw_server(move |_| line.to_owned()).limits(|limits| limits.connect = Duration::from_secs(2));
        let error = server.connect().await.unwrap_err();
        assert!(error.to_string().contains("`far`"), "{error}");
    }
}
