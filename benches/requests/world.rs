//! A server in the state that a request is worst in.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use futures_util::stream;
use serde_json::json;
use tool_runtime::{
    Agent, Message, Part,
    model::{Asked, Delta, FinishReason, FunctionModel},
    run::Principal,
    store::MemoryStore,
    tool, toolset,
};
use tool_server::{AgUi, Server, mcp::McpServer};
use tower::ServiceExt;

use super::worst::Route;

/// Keep notes.
#[tool(effect = destructive, approval = always)]
fn note(
    /// What they say.
    lines: Vec<String>,
) -> usize {
    lines.len()
}

/// A model that calls the tool where the user says so.
fn model() -> FunctionModel {
    FunctionModel::streaming(|asked: Asked| {
        let calls = match asked.messages.last() {
            Some(Message::User { content }) => content.last().and_then(Part::as_text) == Some("note"),
            _ => false,
        };
        let deltas = if calls {
            vec![
                Delta::CallStart { index: 0, id: "waits".to_owned(), name: "note".to_owned() },
                Delta::CallArguments { index: 0, text: r#"{"lines":[]}"#.to_owned() },
                Delta::CallEnd { index: 0 },
                Delta::Finish(FinishReason::ToolCalls),
            ]
        } else {
            vec![Delta::Text("Hm.".to_owned()), Delta::Finish(FinishReason::Stop)]
        };
        stream::iter(deltas.into_iter().map(Ok))
    })
}

/// A server, and the headers of its client.
pub(crate) struct World {
    router: Router,
    path: &'static str,
    session: Option<String>,
}

impl World {
    /// A server for requests of `route`, whose chat has so many prompts, where it has any.
    pub(crate) async fn new(route: Route, prompts: usize) -> Self {
        let tools = toolset!(note);
        if route == Route::Mcp {
            let mut world = Self { router: McpServer::new(tools).http().router(), path: "/mcp", session: None };
            world.initialize().await;
            return world;
        }
        let agent = Agent::new(model()).tools(tools).store(MemoryStore::new());
        let router = Server::new(agent.clone()).body_limit(8 << 20).ag_ui(AgUi::new()).router();
        let (path, first) = match route {
            Route::Chat | Route::KnownChat => {
                let said = json!({ "id": "m0", "role": "user", "parts": [{ "type": "text", "text": "Hi" }] });
                ("/api/chat", json!({ "id": "chat", "messages": [said] }))
            }
            Route::Steer => ("/api/chat/chat/steer", json!({})),
            _ => {
                let said = json!({ "id": "m0", "role": "user", "content": "Hi" });
                ("/agent", json!({ "threadId": "chat", "runId": "r", "messages": [said] }))
            }
        };
        let world = Self { router, path, session: None };
        if matches!(route, Route::KnownChat | Route::KnownAgUi) {
            world.send(&first.to_string()).await;
            // As the server names the first run of a chat.
            let by = Principal::from("anonymous");
            let id = format!("1:{}:{by}:chat", by.as_str().len());
            let with = |cx: tool_runtime::Context| cx.with_principal(by.to_string());
            let mut session = agent.with_context(with).open(&id.as_str().into()).await.expect("the chat's run");
            for number in 1..prompts.max(2) {
                let text = if number + 1 == prompts.max(2) { "note" } else { "Hi" };
                let sent = session.send_named(Some(format!("m{number}")), vec![Part::text(text)]).await;
                sent.expect("the model answers");
            }
        }
        world
    }

    async fn initialize(&mut self) {
        let client = json!({ "name": "bench", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let (status, _, session) = self.post(&begin.to_string()).await;
        assert_eq!(status, 200, "MCP begins");
        self.session = session;
        self.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()).await;
    }

    /// Sends a body, and reads the whole answer.
    pub(crate) async fn send(&self, body: &str) -> (u16, String) {
        let (status, text, _) = self.post(body).await;
        (status, text)
    }

    async fn post(&self, body: &str) -> (u16, String, Option<String>) {
        let mut request = Request::post(self.path)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::HOST, "localhost");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let request = request.body(Body::from(body.to_owned())).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("a response");
        let status = response.status().as_u16();
        let session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("the whole answer");
        (status, String::from_utf8_lossy(&bytes).into_owned(), session)
    }
}
