//! Several MCP servers behind one: their tools under one roof, with our approvals and limits, served again.
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
//! It is an MCP server over stdin and stdout, so a desktop client starts it like any other. With `--http 127.0.0.1:8090` it
//! is one at `/mcp`, answers `useChat` of the AI SDK at `/api/chat`, and clients of AG-UI at `/agent`; these two speak with the
//! model that the environment names (see the README). Anything but loopback needs a token (`MCP_PROXY_TOKEN`), which clients
//! send as `Authorization: Bearer …`, and the name that it is reached by (`--host`).
//!
//! Calls need an approval but those of the tools that `allow` names; the client's user is asked. What the servers' tools were
//! when they were seen first is kept beside the file (`SERVERS.json.pins`): a tool that changes is left out until its line is
//! removed there.

mod servers;
mod web;

use std::{error::Error, path::PathBuf, process::ExitCode, sync::Arc};

use clap::Parser;
use tool_models::from_env;
use tool_runtime::{Agent, model::Model};
use tool_server::mcp::McpServer;
use tool_terminal::NegotiatingModel;

/// Several MCP servers as one.
#[derive(Parser)]
struct Options {
    /// Which servers.
    servers: PathBuf,
    /// Serve over HTTP at this address in place of stdin and stdout.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// A name that it is reached by, such as `tools.example.com`; loopback's without one.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// What clients must know.
    #[arg(long, env = "MCP_PROXY_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    // Everything that is said to a person goes to stderr: stdout is the protocol's.
    match Box::pin(serve(Options::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcp-proxy: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let tools = Box::pin(servers::connect(&options.servers)).await?;
    eprintln!("{} tools", tools.len());
    let model: Arc<dyn Model> = match from_env() {
        Some(model) => Arc::from(model?),
        None => Arc::new(NegotiatingModel::new()),
    };
    // One agent for all three, so that its rules are those of every client.
    let agent = Agent::new(model).tools(tools);
    let server = McpServer::of(agent.clone()).name("proxy", env!("CARGO_PKG_VERSION"));
    match options.http {
        None => server.stdio().await?,
        Some(address) => web::serve(&address, agent, &server, options.host, options.token).await?,
    }
    Ok(())
}
