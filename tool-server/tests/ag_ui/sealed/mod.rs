//! Tests of stateless servers: the client keeps the sealed run, and sends it back.

mod attacks;
mod continues;
mod restart;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use serde_json::{Value, json};
use tool_runtime::{
    Agent,
    model::FunctionModel,
    run::{Run, Timestamp},
};
use tool_server::{AgUi, BearerToken, Server};
use tool_stores::sealed::{Key, Keyring, MemoryNonces, NonceStore, ReplayPolicy, Sealer};
use tower::ServiceExt;

use crate::{
    kit::{Response, input, user},
    model::{Step, play},
    tools::removing,
};

struct World {
    router: Router,
    removed: Arc<AtomicUsize>,
}

fn ring() -> Keyring {
    Keyring::new("test", Key::from_bytes([7; 32]))
}

impl World {
    fn new() -> Self {
        Self::with(Arc::new(MemoryNonces::new()))
    }

    /// Returns the world of a process that shares `nonces`.
    fn with(nonces: Arc<dyn NonceStore>) -> Self {
        let removed = Arc::new(AtomicUsize::new(0));
        let agent = Agent::new(FunctionModel::streaming(play)).tools(removing(&removed));
        let server = Server::new(agent)
            .authenticate(BearerToken::new(|token| Some(token.into())))
            .stateless(&ring(), "desk", nonces)
            .max_body_bytes(16 << 20)
            .ag_ui(AgUi::new());
        Self { router: server.router(), removed }
    }

    async fn post(&self, by: &str, body: String) -> Response {
        let request = Request::post("http://localhost/agent")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {by}"));
        let response = self.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Response { status, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    fn removed(&self) -> usize {
        self.removed.load(Ordering::SeqCst)
    }
}

/// A client that, like real ones, keeps the values that the server sends, and sends them back.
#[derive(Clone)]
struct Client {
    by: &'static str,
    thread: String,
    messages: Vec<Value>,
}

impl Client {
    fn new(thread: &str) -> Self {
        Self { by: "anna", thread: thread.to_owned(), messages: Vec::new() }
    }

    fn body(&self, more: &Value) -> String {
        input(&self.thread, &json!(self.messages), more)
    }

    async fn run(&mut self, world: &World, more: Value) -> Response {
        let response = world.post(self.by, self.body(&more)).await;
        if response.status == 200 {
            for event in response.events().iter().filter(|event| event["type"] == "REASONING_ENCRYPTED_VALUE") {
                let keeper = self.messages.iter_mut().find(|message| message["id"] == event["entityId"]);
                let keeper = keeper.expect("a message that the client has");
                // Both real clients leave activities as they are.
                if keeper["role"] != "activity" {
                    keeper["encryptedValue"] = event["encryptedValue"].clone();
                }
            }
        }
        response
    }

    async fn say(&mut self, world: &World, script: &[Vec<Step>]) -> Response {
        let id = format!("m{}", self.messages.len());
        self.messages.push(user(&id, &serde_json::to_string(script).unwrap()));
        self.run(world, json!({})).await
    }

    fn seal(&self) -> String {
        let kept = self.messages.iter().rev().find_map(|message| message["encryptedValue"].as_str());
        kept.expect("a sealed run").to_owned()
    }

    fn with_seal(mut self, seal: &str) -> Self {
        self.messages.last_mut().expect("a message")["encryptedValue"] = seal.into();
        self
    }
}

fn call(name: &str, arguments: &str) -> Vec<Step> {
    vec![Step::Call(name.to_owned()), Step::Arguments(0, arguments.to_owned()), Step::End(0)]
}

/// Returns a client with an open request to remove something, and the input that approves it.
async fn request_approval(world: &World, thread: &str) -> (Client, Value) {
    let mut client = Client::new(thread);
    let asked = client.say(world, &[call("remove", r#"{"what":"a"}"#)]).await;
    let yes = approve(&asked);
    (client, yes)
}

fn approve(asked: &Response) -> Value {
    let id = asked.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
    assert!(id.is_string(), "{}", asked.text);
    json!({ "resume": [{ "interruptId": id, "status": "resolved", "payload": { "approved": true } }] })
}

fn open_seal(seal: &str, by: &str) -> Run {
    let sealer = Sealer::new(ring(), "desk/waits", ReplayPolicy::Allow);
    futures_util::FutureExt::now_or_never(sealer.open(seal, &by.into(), Timestamp(0)))
        .expect("it does not wait")
        .unwrap()
}
