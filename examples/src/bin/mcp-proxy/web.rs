//! The tools as a server for MCP, the AI SDK and AG-UI.

use std::{error::Error, future::pending};

use tokio::net::TcpListener;
use tool_runtime::Agent;
use tool_server::{AgUi, BearerToken, Server, mcp::McpServer};

/// Serves until Ctrl-C.
pub(super) async fn serve(
    address: &str,
    agent: Agent,
    server: &McpServer,
    hosts: Vec<String>,
    token: Option<String>,
) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    if token.is_none() && !address.ip().is_loopback() {
        return Err(
            format!("{address} is not loopback, so clients need a token: set MCP_PROXY_TOKEN or `--token`").into()
        );
    }
    let (mut frontends, mut mcp) = (Server::new(agent).ag_ui(AgUi::new()), server.http());
    if let Some(token) = token {
        let owner = BearerToken::of([(token, "owner")]);
        frontends = frontends.authenticate(owner.clone());
        mcp = mcp.authenticate(owner);
    }
    if !hosts.is_empty() {
        frontends = frontends.hosts(&hosts);
        mcp = mcp.hosts(hosts);
    }
    eprintln!("MCP at http://{address}/mcp, the AI SDK at /api/chat, AG-UI at /agent");
    let stop = async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    };
    frontends.merge(mcp.router()).serve(listener, stop).await?;
    Ok(())
}
