//! The addresses at which a service listens.

use std::{future::pending, io};

use tokio::net::TcpListener;
use tool_server::{BearerToken, Everybody, Server};

use crate::guard::kit::{send, server};

/// Checks that `serve` refuses the listener, with an error that says what to do.
async fn is_refused(serving: impl Future<Output = io::Result<()>>) {
    let error = serving.await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let text = error.to_string();
    for part in ["0.0.0.0:", "not loopback", "`BearerToken`", "`authenticate(Everybody(…))`"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

async fn everywhere() -> TcpListener {
    TcpListener::bind("0.0.0.0:0").await.unwrap()
}

#[tokio::test]
async fn anonymous_callers_are_served_on_loopback_only() {
    is_refused(server().0.serve(everywhere().await, pending())).await;
    // Neither do names of hosts authenticate anybody.
    is_refused(server().0.hosts(["localhost"]).serve(everywhere().await, pending())).await;
    #[cfg(feature = "mcp")]
    {
        let http = tool_server::mcp::McpServer::new(tool_runtime::Toolset::new()).http();
        is_refused(http.serve(everywhere().await, pending())).await;
    }
}

#[tokio::test]
async fn authentication_opens_other_addresses() {
    let ways: [fn(Server) -> Server; 2] = [
        |server| server.authenticate(BearerToken::of([("s3cret", "anna")])),
        |server| server.authenticate(Everybody("guest".into())),
    ];
    for (change, status) in ways.into_iter().zip([401, 200]) {
        let listener = everywhere().await;
        let address = ([127, 0, 0, 1], listener.local_addr().unwrap().port()).into();
        tokio::spawn(change(server().0).serve(listener, pending()));
        let answer = send(address, "GET /api/tools", &[("host", "localhost")], "").await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}
