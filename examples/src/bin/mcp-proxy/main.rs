//! Several MCP servers behind one: it serves their tools again, with our approvals and limits.
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
//! serves MCP at `/mcp`, `useChat` of the AI SDK at `/api/chat`, and AG-UI at `/agent`. The latter two use the model from the
//! environment (`docs/models.md`). Addresses other than loopback need a token (`MCP_PROXY_TOKEN`), which clients send as
//! `Authorization: Bearer …`, and the server's public name (`--host`).
//!
//! `"olderRevision": true` connects to a server by the revision 2025-11-25, if its tools cannot ask people in a newer one.
//!
//! The client's user approves each call, except calls of the tools in `allow`. The first definitions of the servers' tools are
//! pinned beside the file (`SERVERS.json.pins`). A changed or new tool is left out until you remove the server's entry there.

mod servers;
mod web;

use std::{error::Error, path::PathBuf, process::ExitCode, sync::Arc};

use clap::Parser;
use example_dialogue::DialogueModel;
use tool_models::from_env;
use tool_runtime::{Agent, model::Model};
use tool_server::mcp::McpServer;

/// Several MCP servers as one.
#[derive(Parser)]
struct Options {
    /// The file that lists the servers.
    servers: PathBuf,
    /// Serve over HTTP at this address in place of stdin and stdout.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// A public name of the server, such as `tools.example.com`. By default, only names of loopback.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// The token that clients send as `Authorization: Bearer …`.
    #[arg(long, env = "MCP_PROXY_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    // Messages to a person and the log go to stderr: stdout belongs to the protocol.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
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
        None => Arc::new(DialogueModel::new()),
    };
    // MCP, the AI SDK and AG-UI share one agent, so that one set of rules applies.
    let agent = Agent::new(model).tools(tools);
    let server = McpServer::of(agent.clone()).name("proxy", env!("CARGO_PKG_VERSION"));
    match options.http {
        None => server.serve_stdio().await?,
        Some(address) => web::serve(&address, agent, &server, options.host, options.token).await?,
    }
    Ok(())
}
