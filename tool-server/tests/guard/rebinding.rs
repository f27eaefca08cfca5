//! Tests of DNS rebinding: the name of a hostile page leads to this machine, so the browser treats the server as that page's own.

use std::{net::SocketAddr, sync::atomic::Ordering};

use axum::Router;
use serde_json::Value;

use crate::guard::kit::{Response, chat, chat_approval, listen, post, run, run_approval, server};

/// A protocol: its path, and the bodies of a new message and of the approval that the response requests.
type Protocol = (&'static str, fn() -> Value, fn(&Response) -> Value);

const PROTOCOLS: [Protocol; 3] =
    [("/api/chat", chat, chat_approval), ("/api/v6/chat", chat, chat_approval), ("/agent", run, run_approval)];

/// Prompts the agent by one name of the host, and approves by another. Returns the status of both.
async fn delete(address: SocketAddr, path: &str, protocol: Protocol, prompts: &str, approves: &str) -> [u16; 2] {
    let (_, message, approval) = protocol;
    let asked = post(address, path, prompts, &message()).await;
    let approved = post(address, path, approves, &approval(&asked)).await;
    [asked.status, approved.status]
}

#[tokio::test]
async fn a_rebound_name_can_neither_prompt_nor_approve() {
    for protocol in PROTOCOLS {
        for prefix in ["", "/nested"] {
            let (server, deleted) = server();
            let router = if prefix.is_empty() { server.router() } else { Router::new().nest(prefix, server.router()) };
            let address = listen(router).await;
            let path = format!("{prefix}{}", protocol.0);
            let (own, foreign) = (address.to_string(), format!("evil.example:{}", address.port()));
            assert_eq!(delete(address, &path, protocol, &foreign, &foreign).await, [403, 403], "{path}");
            // Knowledge of the approval's id does not help.
            assert_eq!(delete(address, &path, protocol, &own, &foreign).await, [200, 403], "{path}");
            assert_eq!(deleted.load(Ordering::SeqCst), 0, "{path}");
            // Under its own name, the server accepts the prompt and the approval.
            assert_eq!(delete(address, &path, protocol, &own, &own).await, [200, 200], "{path}");
            assert_eq!(deleted.load(Ordering::SeqCst), 1, "{path}");
        }
    }
}
