//! Tests that each message gets one response, into whatever pieces its line is split.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
use tool_runtime::{Text, tool, toolset};
use tool_server::mcp::McpServer;

/// Count the bytes of a text.
#[tool(effect = read_only)]
fn count(
    /** The text. */
    text: String,
) -> Text {
    Text(text.len().to_string())
}

fn call(id: u32, text: &str) -> String {
    let params = json!({ "name": "count", "arguments": { "text": text } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

/// Returns messages, and the expected texts of the results by the ids of the requests.
fn conversation() -> (Vec<u8>, BTreeMap<u64, &'static str>) {
    let client = json!({ "name": "wire", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let long = "y".repeat(1_500_000);
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 100, "method": "initialize", "params": params }).to_string(),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
        call(1, "a"),
        String::new(),
        "no JSON".to_owned(),
        call(2, "bb") + "\r",
        // This call has an unknown member.
        call(3, "ccc").replace("\"name\"", "\"more\":1,\"name\""),
        json!({ "jsonrpc": "2.0", "id": 101, "method": "ping" }).to_string(),
        // This line is longer than 1 MiB.
        call(4, &long),
        // The end of this line alone would be a message.
        "x".repeat(1 << 20) + &call(5, "no"),
        format!("\u{feff}{}", call(6, "six")),
        // A list is neither a message nor parameters.
        r#"["2.0",9,"tools/call",{"name":"count","arguments":{"text":"no"}}]"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":[null,"count",{"text":"no"}]}"#.to_owned(),
        call(7, "seven"),
    ];
    // The last line does not end.
    let sent = lines.join("\n") + "\n" + &call(8, "no");
    let results = [(1, "1"), (2, "2"), (3, "3"), (4, "1500000"), (6, "3"), (7, "5"), (100, ""), (101, "")];
    (sent.into_bytes(), results.into())
}

#[tokio::test]
async fn each_message_gets_one_response_in_any_pieces() {
    let (sent, expected) = conversation();
    for size in [97, 4096, 8192, 1 << 20, sent.len()] {
        let (near, far) = duplex(1 << 16);
        let server = tokio::spawn(async move {
            let (read, write) = split(far);
            McpServer::new(toolset!(count)).serve_streams(read, write).await
        });
        let (read, mut write) = split(near);
        let sent = sent.clone();
        let writing = tokio::spawn(async move {
            for piece in sent.chunks(size) {
                write.write_all(piece).await.unwrap();
            }
            write
        });
        let (mut results, mut refused) = (BTreeMap::new(), 0);
        let mut lines = BufReader::new(read).lines();
        while results.len() < expected.len() {
            let line = tokio::time::timeout(Duration::from_secs(20), lines.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("{size}: {results:?} only")).unwrap().expect("a connection");
            let response: Value = serde_json::from_str(&line).unwrap();
            if response["id"].is_null() {
                assert_eq!(response["error"]["message"], "Invalid request", "{size}");
                refused += 1;
                continue;
            }
            let id = response["id"].as_u64().unwrap_or_else(|| panic!("{size}: {response}"));
            let text = response["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
            assert!(results.insert(id, text).is_none(), "{size}: {id} has two responses");
        }
        assert!(results.iter().map(|(id, text)| (*id, text.as_str())).eq(expected.clone()), "{size}: {results:?}");
        assert_eq!(refused, 2, "{size}: the two lists");
        writing.await.unwrap().shutdown().await.unwrap();
        let end = tokio::time::timeout(Duration::from_secs(20), lines.next_line()).await.expect("it ends");
        assert_eq!(end.unwrap(), None, "{size}");
        server.await.unwrap().unwrap();
    }
}
