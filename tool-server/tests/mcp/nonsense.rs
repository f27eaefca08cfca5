//! A server that does not keep to the protocol at all.

use std::{io, time::Duration};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
use tool_runtime::Context;
use tool_server::mcp::RemoteServer;
use tool_test_kit::within;

/// A server that answers each line with `answer`, whatever that is.
pub(crate) fn raw(answer: impl Fn(&Value) -> String + Clone + Send + Sync + 'static) -> RemoteServer {
    let open = move || {
        let answer = answer.clone();
        async move {
            let (near, far) = duplex(1 << 20);
            tokio::spawn(async move {
                let (read, mut write) = split(far);
                let mut lines = BufReader::new(read).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let Ok(request) = serde_json::from_str::<Value>(&line) else { return };
                    if request.get("id").is_some() && write.write_all(answer(&request).as_bytes()).await.is_err() {
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

pub(crate) fn usual(request: &Value, call: &str) -> String {
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
async fn lines_that_are_no_messages_end_in_failures() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let results = [
        format!(r#"{{"content":[],"structuredContent":{deep}}}"#),
        r#"{"content":[{"type":"hologram"}]}"#.to_owned(),
        "null".to_owned(),
        r#"{"content":"#.to_owned(),
        format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "y".repeat(20_000_000)),
    ];
    for result in results {
        let (start, answer): (String, _) = (result.chars().take(40).collect(), result);
        // The client waits in vain for the rest of some of them.
        let server =
            raw(move |request| usual(request, &answer)).limits(|limits| limits.call = Duration::from_millis(500));
        let remote = server.connect().await.unwrap();
        let called = within("a call", remote.toolset().call("far_t", "{}", &Context::new("1"))).await;
        assert!(called.is_err(), "{start}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_or_nonsense_is_no_server() {
    for answer in ["", "\n", "hello\n", "{}\n"] {
        let server = raw(move |_| answer.to_owned()).limits(|limits| limits.connect = Duration::from_secs(2));
        let error = server.connect().await.unwrap_err();
        assert!(error.to_string().contains("`far`"), "{error}");
    }
}
