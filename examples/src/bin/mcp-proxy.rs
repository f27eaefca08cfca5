//! Several MCP servers behind one: their tools under one roof, with our approvals and limits, served again as MCP.
//!
//! `cargo run -p examples --bin mcp-proxy -- SERVERS.json`, where the file has the form of a desktop client's configuration:
//!
//! ```json
//! { "mcpServers": {
//!     "time": { "command": "uvx", "args": ["mcp-server-time"], "allow": ["get_current_time"] },
//!     "docs": { "url": "https://example.com/mcp" }
//! } }
//! ```
//!
//! Calls need an approval but those of the tools that `allow` names; the client's user is asked. What the servers' tools were
//! when they were seen first is kept beside the file (`SERVERS.json.pins`): a tool that changes is left out until its line is
//! removed there.

use std::{collections::BTreeMap, error::Error, fs, path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use serde::Deserialize;
use tool_runtime::{
    Agent, Toolset,
    layer::{ConcurrencyLimit, RateLimit},
};
use tool_server::mcp::{McpServer, RemoteServer, client::Pins};

/// Several MCP servers as one.
#[derive(Parser)]
struct Options {
    /// Which servers.
    servers: PathBuf,
    /// Serve over HTTP at this address in place of stdin and stdout.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Servers {
    mcp_servers: BTreeMap<String, Server>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Server {
    command: Option<PathBuf>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    url: Option<String>,
    allow: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match Box::pin(serve(Options::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcp-proxy: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let servers: Servers = serde_json::from_str(&fs::read_to_string(&options.servers)?)?;
    let kept = options.servers.with_extension("json.pins");
    let mut pins: BTreeMap<String, Pins> = match fs::read_to_string(&kept) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => BTreeMap::new(),
    };
    let mut tools = Toolset::new();
    for (name, server) in servers.mcp_servers {
        let remote = named(&name, server)?;
        let remote = match pins.remove(&name) {
            Some(pins) => remote.pins(pins),
            None => remote,
        };
        let remote = remote.questions().connect().await?;
        for change in remote.changes() {
            let what = if change.is_new { "is new" } else { "is not what it was" };
            eprintln!("{name}: {} {what}, and left out", tool_runtime::feedback::one_line(&change.tool));
        }
        pins.insert(name, remote.pins());
        // Each server has limits of its own: none can starve the others.
        let limited =
            remote.toolset().layer(ConcurrencyLimit::new(4)).layer(RateLimit::new(60, Duration::from_mins(1)));
        tools = tools.merge(limited)?;
    }
    fs::write(&kept, serde_json::to_string_pretty(&pins)?)?;
    eprintln!("{} tools", tools.len());
    let server = McpServer::of(Agent::without_model(tools)).name("proxy", env!("CARGO_PKG_VERSION"));
    match options.http {
        None => server.stdio().await?,
        Some(address) => server.http().listen(&address).await?,
    }
    Ok(())
}

fn named(name: &str, server: Server) -> Result<RemoteServer, Box<dyn Error>> {
    let remote = match (server.command, server.url) {
        (Some(command), None) => {
            let remote = RemoteServer::command(name, command).args(server.args);
            server.env.into_iter().fold(remote, |remote, (name, value)| remote.env(name, value))
        }
        (None, Some(url)) => RemoteServer::http(name, url),
        _ => return Err(format!("the server `{name}` needs either a `command` or a `url`").into()),
    };
    Ok(remote.allow(server.allow))
}
