//! Answers of a foreign MCP server. Each line begins with what it answers: `init`, `discover`, `list` and `call` are followed by the
//! members of the response, `send` by a message that the server sends during a call (`$id` is the id of the call), and `args` by
//! the arguments of the calls.
//!
//! Connecting and calling end. The tools have names that every provider accepts, texts without invisible characters, and schemas in
//! every dialect. A tool that was not allowed needs an approval.

#![no_main]

use std::{io, sync::Arc, time::Duration};

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
use tool_runtime::{
    Agent, Approval, Context, Toolset,
    agent::{Decision, Suspend},
    run::InterruptKind,
    schema::Dialect,
    toolset::ListFormat,
};
use tool_server::mcp::RemoteServer;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tool_fuzz::mutate_lines(data, size, max_size, seed)
});

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    tool_fuzz::runtime().block_on(use_server(Script::read(text)));
});

/// The answers of a server.
#[derive(Default)]
struct Script {
    init: String,
    discover: String,
    list: String,
    call: String,
    sends: Vec<String>,
    arguments: String,
}

impl Script {
    fn read(text: &str) -> Arc<Self> {
        let mut script = Self { arguments: "{}".to_owned(), ..Self::default() };
        for line in text.lines() {
            let Some((what, rest)) = line.split_once(' ') else { continue };
            match what {
                "init" => script.init = rest.to_owned(),
                "discover" => script.discover = rest.to_owned(),
                "list" => script.list = rest.to_owned(),
                "call" => script.call = rest.to_owned(),
                "args" => script.arguments = rest.to_owned(),
                "send" if script.sends.len() < 4 => script.sends.push(rest.to_owned()),
                _ => {}
            }
        }
        Arc::new(script)
    }

    fn respond(&self, line: &str) -> String {
        let Ok(request) = serde_json::from_str::<Value>(line) else { return String::new() };
        let Some(id) = request.get("id") else { return String::new() };
        let members = match request["method"].as_str() {
            Some("initialize") => &self.init,
            Some("server/discover") => &self.discover,
            Some("tools/list") => &self.list,
            Some("tools/call") => &self.call,
            _ => "",
        };
        let members = if members.is_empty() { r#""error":{"code":-32601,"message":"no"}"# } else { members };
        let mut out = String::new();
        if request["method"] == "tools/call" {
            self.sends.iter().for_each(|message| out += &format!("{}\n", message.replace("$id", &id.to_string())));
        }
        out + &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{members}}}\n")
    }
}

async fn use_server(script: Arc<Script>) {
    let answers = Arc::clone(&script);
    let open = move || {
        let answers = Arc::clone(&answers);
        async move {
            let (near, far) = duplex(1 << 20);
            tokio::spawn(async move {
                let (read, mut write) = split(far);
                let mut lines = BufReader::new(read).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    if write.write_all(answers.respond(&line).as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
            io::Result::Ok(split(near))
        }
    };
    let server = RemoteServer::streams("far", open).questions().allow(["t"]);
    let connected = tokio::time::timeout(Duration::from_secs(600), server.connect()).await.expect("connecting ends");
    let Ok(remote) = connected else { return };
    let tools = remote.toolset();
    let _ = remote.skipped().iter().map(|part| format!("{part:?}")).collect::<String>();
    check(&tools);
    let names: Vec<String> = tools.names().take(3).map(str::to_owned).collect();
    for name in &names {
        let cx = Context::new("1");
        let called = tools.call(name, &script.arguments, &cx);
        let called = tokio::time::timeout(Duration::from_secs(600), called).await.expect("a call ends");
        if let Ok(output) = called {
            assert!(output.text().len() <= 4 << 20, "the result is limited");
        }
    }
    if let Some(name) = names.first() {
        let work = call_in_a_run(&tools, name, &script.arguments);
        tokio::time::timeout(Duration::from_secs(6000), work).await.expect("a run ends");
    }
    let changes = remote.refresh().await;
    for change in changes.iter().flatten() {
        remote.accept(change);
    }
    check(&remote.toolset());
    remote.close().await;
}

fn check(tools: &Toolset) {
    for tool in tools.iter() {
        let spec = tool.spec();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(!spec.name.is_empty() && spec.name.len() <= 64 && spec.name.chars().all(is_name), "{:?}", spec.name);
        let shown =
            format!("{}{}{:?}", spec.description, spec.title.as_deref().unwrap_or_default(), spec.options.origin);
        let is_hidden = |c: char| {
            (c.is_control() && c != '\n' && c != '\t')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
        };
        assert!(!shown.contains(is_hidden), "{shown:?}");
        if spec.name != "far_t" {
            assert_eq!(spec.options.approval, Approval::Always, "{:?}", spec.name);
        }
        for dialect in Dialect::ALL {
            let _ = spec.input.lowered(dialect);
        }
    }
    for format in ListFormat::ALL {
        serde_json::from_str::<Value>(tools.list().json(format).get()).expect("a list is JSON");
    }
    let _ = tool_server::typescript(tools);
}

/// Calls a tool as an agent does, and answers what is asked.
async fn call_in_a_run(tools: &Toolset, name: &str, arguments: &str) {
    let agent = Agent::tools_only(tools.clone()).operator(Suspend);
    let mut session = agent.session();
    if session.call(name, arguments).await.is_err() {
        return;
    }
    for _ in 0..3 {
        let Some(open) = session.interrupts().next().cloned() else { return };
        let decision = match open.kind {
            InterruptKind::Approval { .. } => Decision::Approve,
            _ => Decision::Answer { value: serde_json::from_str(arguments).unwrap_or_default() },
        };
        let by = agent.owner();
        if session.decide(&open.id, decision, by).await.is_err() || session.resume().await.is_err() {
            return;
        }
    }
}
