//! Tests of the MCP examples as clients start them: stdout has only the protocol, and the proxy speaks three protocols.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

/// A directory with one file. Dropping it removes both.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-example-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("files")).unwrap();
        fs::write(path.join("files/a.txt"), "hello there\n").unwrap();
        Self(path)
    }

    fn served(&self) -> String {
        self.0.join("files").display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running program. Dropping it stops the program.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn call(id: u32, name: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "desktop", "version": "1" } } })
}

#[test]
fn a_desktop_client_reads_only_the_protocol() {
    let files = Files::new("server");
    let mut server = Command::new(env!("CARGO_BIN_EXE_mcp-server"))
        .arg(files.served())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |message: &Value| {
        writeln!(stdin, "{message}").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).expect("JSON");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &message["id"]), "{answer}");
        answer["result"].clone()
    };
    assert_eq!(ask(&initialize())["serverInfo"]["title"], "Files");
    let read = ask(&call(2, "read", &json!({ "path": "a.txt" })));
    assert_eq!(read["content"][0]["text"], "hello there\n");
    // This client cannot ask a person.
    let write = ask(&call(3, "write", &json!({ "path": "b.txt", "content": "x" })));
    assert!(write["isError"] == true && !files.0.join("files/b.txt").exists(), "{write}");
    drop(stdin);
    assert!(answers.next().is_none(), "the server writes only its answers");
    let mut printed = String::new();
    server.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(printed.contains("serving ") && server.wait().unwrap().success(), "{printed}");
}

/// Sends a request. Returns the head and the body of the response.
fn post(address: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let mut lines = vec![
        format!("POST {path} HTTP/1.1"),
        "Connection: close".to_owned(),
        "Content-Type: application/json".to_owned(),
        "Accept: application/json, text/event-stream".to_owned(),
        format!("Content-Length: {}", body.len()),
    ];
    if !headers.iter().any(|(name, _)| *name == "Host") {
        lines.push(format!("Host: {address}"));
    }
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    stream.write_all(format!("{}\r\n\r\n{body}", lines.join("\r\n")).as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a response");
    (head.to_owned(), body.to_owned())
}

/// A server of one line per message, with a bad tool and a bad keyword. Its `sed` takes the id of a request.
const ODD_SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  [ -n "$id" ] || continue
  case $line in
    *'"method":"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer='"result":{"tools":[{"name":"bad"},{"name":"find","inputSchema":{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":true}}}}]}' ;;
    *) answer='"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
"#;

#[test]
fn a_proxy_names_what_it_skips() {
    let files = Files::new("skipped");
    let config = files.0.join("servers.json");
    let server = json!({ "command": "sh", "args": ["-c", ODD_SERVER] });
    fs::write(&config, json!({ "mcpServers": { "odd": server } }).to_string()).unwrap();
    let proxy = Command::new(env!("CARGO_BIN_EXE_mcp-proxy")).arg(&config).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(proxy.stderr).unwrap();
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with("odd: ")).collect();
    let expected = [
        "odd: `bad` is left out: it has no `inputSchema`",
        "odd: /inputSchema/properties/n/exclusiveMinimum of `find` is left out: expected a number, got true",
    ];
    assert_eq!(lines, expected, "{printed}");
    assert_eq!(String::from_utf8_lossy(&proxy.stdout), "", "stdout has only the protocol");
}

#[test]
fn a_proxy_serves_mcp_the_ai_sdk_and_ag_ui() {
    let files = Files::new("proxy");
    let config = files.0.join("servers.json");
    let server = json!({ "command": env!("CARGO_BIN_EXE_mcp-server"), "args": [files.served()], "allow": ["read"] });
    fs::write(&config, json!({ "mcpServers": { "files": server } }).to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-proxy"));
    for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "MCP_PROXY_TOKEN"] {
        command.env_remove(name);
    }
    let proxy = command.args(["--http", "127.0.0.1:0"]).arg(&config).stderr(Stdio::piped()).spawn().unwrap();
    let mut proxy = Running(proxy);
    let mut printed = BufReader::new(proxy.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = printed.find(|line| line.starts_with("MCP at ")).expect("the proxy prints its address");
    let address = line["MCP at http://".len()..].split('/').next().unwrap().to_owned();

    let (head, _) = post(&address, "/mcp", &[], &initialize());
    let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session").to_owned();
    let in_session = [("Mcp-Session-Id", session.as_str())];
    let (_, printed) = post(&address, "/mcp", &in_session, &call(2, "files_read", &json!({ "path": "a.txt" })));
    assert!(printed.contains("hello there"), "{printed}");
    let delete = call(3, "files_delete", &json!({ "path": "a.txt" }));
    let (_, printed) = post(&address, "/mcp", &in_session, &delete);
    assert!(printed.contains("did not run") && files.0.join("files/a.txt").exists(), "{printed}");

    // Without a model in the environment, the offline model calls the tool that the prompt names.
    let parts = json!([{ "type": "text", "text": "files_read a.txt" }]);
    let chat = json!({ "id": "c", "messages": [{ "id": "m", "role": "user", "parts": parts }] });
    let (_, printed) = post(&address, "/api/chat", &[], &chat);
    assert!(printed.contains("tool-output-available") && printed.contains("hello there"), "{printed}");
    let message = json!({ "id": "m", "role": "user", "content": "files_delete a.txt" });
    let run = json!({ "threadId": "t", "runId": "r", "state": {}, "messages": [message], "tools": [], "context": [],
        "forwardedProps": {} });
    let (_, printed) = post(&address, "/agent", &[], &run);
    assert!(
        printed.contains("interrupt") && files.0.join("files/a.txt").exists(),
        "an approval is requested: {printed}"
    );
    // All protocols refuse a page with a foreign host name.
    for (path, body) in [("/mcp", &initialize()), ("/api/chat", &chat), ("/agent", &run)] {
        let (head, _) = post(&address, path, &[("Host", "evil.example")], body);
        assert!(head.starts_with("HTTP/1.1 403"), "{path}: {head}");
    }
}
