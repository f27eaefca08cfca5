//! The same tools for MCP, the AI SDK and AG-UI.

use std::{error::Error, future::pending};

use tokio::net::TcpListener;
use tool_runtime::Agent;
use tool_server::{
    AgUi, BearerToken, Server,
    axum::{
        extract::Request,
        http::{StatusCode, header::HOST},
        middleware::{Next, from_fn},
        response::{IntoResponse, Response},
    },
    mcp::McpServer,
};

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
    if !address.ip().is_loopback() && (token.is_none() || hosts.is_empty()) {
        return Err(format!("{address} is not loopback: it needs MCP_PROXY_TOKEN and --host").into());
    }
    let (mut frontends, mut mcp) = (Server::new(agent).ag_ui(AgUi::new()), server.http());
    if let Some(token) = token {
        let who = move |given: &str| (given == token).then(|| "owner".into());
        frontends = frontends.authenticate(BearerToken::new(who.clone()));
        mcp = mcp.authenticate(BearerToken::new(who));
    }
    let is_named = !hosts.is_empty();
    if is_named {
        mcp = mcp.hosts(hosts);
    }
    let frontends = frontends.router();
    // A page of somebody else could have its name lead here; with a token it would get nowhere.
    let frontends = if is_named { frontends } else { frontends.layer(from_fn(loopback)) };
    eprintln!("MCP at http://{address}/mcp, the AI SDK at /api/chat, AG-UI at /agent");
    tool_server::serve(listener, frontends.merge(mcp.router()), async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    })
    .await?;
    Ok(())
}

/// Lets requests through that were made to this machine by its own name.
async fn loopback(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, port)| if port.ends_with(']') { host } else { name });
    if matches!(name, "localhost" | "127.0.0.1" | "[::1]") {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "only by the name of this machine").into_response()
    }
}
