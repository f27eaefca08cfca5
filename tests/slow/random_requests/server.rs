//! The server of these tests, with a tool that must not run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header, request::Parts},
};
use futures_util::{Stream, future::BoxFuture, stream};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Message, Provide,
    agent::Caller,
    model::{Delta, FinishReason, FunctionModel, ModelError, OwnedRequest},
    tool, toolset,
};
use tool_server::protocol::ag_ui::ArgumentCheck;
use tool_server::{AgUi, ApiError, Authenticate, Server};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tower::ServiceExt;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics on all tasks from now on.
pub(crate) fn count_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        before(info);
    }));
}

/// The endpoint of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Chat,
    AgUi,
}

impl Kind {
    pub(crate) fn of(name: &str) -> Self {
        if name.starts_with("agui") { Self::AgUi } else { Self::Chat }
    }
}

#[derive(Provide)]
struct State {
    wiped: Arc<AtomicUsize>,
}

/// Wipe the disk.
#[tool(effect = destructive, approval = always)]
fn wipe(
    /// The disk.
    disk: String,
    #[state] wiped: &Arc<AtomicUsize>,
) -> String {
    wiped.fetch_add(1, Ordering::SeqCst);
    format!("wiped {disk}")
}

/// Get the position of the user from the browser.
#[tool(external, effect = read_only, output = Value)]
struct Locate {}

/// A server that counts the runs of its tool.
pub(crate) struct TestServer {
    router: Router,
    /// Set if its clients keep the runs.
    is_stateless: bool,
    wiped: Arc<AtomicUsize>,
    users: usize,
}

/// Authentication that believes the client.
struct Named;

impl Authenticate for Named {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Caller, ApiError>> {
        let name = request.headers.get("x-user").and_then(|name| name.to_str().ok()).unwrap_or("anna");
        Box::pin(std::future::ready(Ok(Caller::new(name))))
    }
}

impl TestServer {
    pub(crate) fn new(is_stateless: bool) -> Self {
        let wiped = Arc::new(AtomicUsize::new(0));
        let state = State { wiped: Arc::clone(&wiped) };
        let tools = toolset!(state; wipe, Locate);
        let agent = Agent::new(FunctionModel::streaming(|asked| play(&asked))).tools(tools);
        let mut server = Server::new(agent).authenticate(Named).ag_ui(AgUi::new().check(ArgumentCheck::Report));
        if is_stateless {
            let keys = Keyring::new("test", Key::from_bytes([7; 32]));
            server = server.stateless(&keys, "test", Arc::new(MemoryNonces::new()));
        }
        Self { router: server.router(), is_stateless, wiped, users: 0 }
    }

    /// Sends a body. Returns the status, or the problem with the answer.
    pub(crate) async fn send(&mut self, kind: Kind, text: &str, is_stranger: bool) -> Result<u16, String> {
        self.users += 1;
        let user = if is_stranger { format!("user-{}", self.users) } else { "anna".to_owned() };
        let before = self.wiped.load(Ordering::SeqCst);
        let path = match kind {
            Kind::AgUi => "/agent",
            Kind::Chat if self.users.is_multiple_of(3) => "/api/v6/chat",
            Kind::Chat => "/api/chat",
        };
        let answer = tokio::time::timeout(Duration::from_secs(10), self.post(path, &user, text.to_owned()));
        let (status, _) = answer.await.map_err(|_| "the answer did not end".to_owned())?;
        if status >= 500 {
            return Err(format!("the status is {status}"));
        }
        if PANICS.load(Ordering::SeqCst) > 0 {
            return Err("the server panicked".to_owned());
        }
        if self.wiped.load(Ordering::SeqCst) != before {
            return Err("a tool ran without permission".to_owned());
        }
        Ok(status)
    }

    async fn post(&self, path: &str, user: &str, body: String) -> (u16, String) {
        let request = Request::post(format!("http://localhost{path}"));
        let request = request.header(header::CONTENT_TYPE, "application/json").header("x-user", user);
        let response = self.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Asserts that a normal chat works: the tool runs once after its approval.
    pub(crate) async fn assert_works(&self) {
        let before = self.wiped.load(Ordering::SeqCst);
        let prompt = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "wipe it" }] });
        let first = json!({ "id": "last", "messages": [prompt] }).to_string();
        let (_, text) = self.post("/api/chat", "bert", first).await;
        let chunks = text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
        let chunks: Vec<Value> = chunks.filter_map(|data| serde_json::from_str(data).ok()).collect();
        let asked = chunks.iter().find(|chunk| chunk["type"] == "tool-approval-request");
        let asked = asked.unwrap_or_else(|| panic!("no approval was requested: {text}"));
        let kept = chunks.iter().find_map(|chunk| chunk.get("messageMetadata"));
        assert_eq!(kept.is_some(), self.is_stateless, "{text}");
        let part = json!({
            "type": "tool-wipe",
            "toolCallId": asked["toolCallId"],
            "state": "approval-responded",
            "approval": { "id": asked["approvalId"], "approved": true },
        });
        let parts = [json!({ "type": "step-start" }), part];
        let answer = json!({ "id": "a1", "role": "assistant", "parts": parts, "metadata": kept });
        let second = json!({ "id": "last", "messages": [prompt, answer] }).to_string();
        for _ in 0..2 {
            self.post("/api/chat", "bert", second.clone()).await;
        }
        assert_eq!(self.wiped.load(Ordering::SeqCst), before + 1, "an approval runs the tool once");
    }
}

/// Calls both tools, and answers with a word after their results.
fn play(asked: &OwnedRequest) -> impl Stream<Item = Result<Delta, ModelError>> + Send + use<> {
    let is_answered = matches!(asked.messages.last(), Some(Message::Tool(_)));
    let mut deltas = vec![Delta::Text("Well.".to_owned())];
    if is_answered {
        deltas.push(Delta::Finish(FinishReason::Stop));
    } else {
        for (index, (name, arguments)) in [("wipe", r#"{"disk":"a"}"#), ("Locate", "{}")].into_iter().enumerate() {
            // The corpus has the same ids.
            let id = format!("call_{}", index + 1);
            deltas.push(Delta::CallStart { index, id, name: name.to_owned() });
            deltas.push(Delta::CallArguments { index, text: arguments.to_owned() });
            deltas.push(Delta::CallEnd { index });
        }
        deltas.push(Delta::Finish(FinishReason::ToolCalls));
    }
    stream::iter(deltas.into_iter().map(Ok))
}
