//! Tests of the limits for loading long chats: the bytes that are being sent, and the places for loads. Each principal has a
//! part of both.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
    response::Response,
};
use futures_util::{FutureExt as _, future::BoxFuture, stream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent, Message,
    message::FinishReason,
    model::{Delta, FunctionModel, Turn},
    run::{Principal, RunId, Timestamp},
    store::{Append, Lease, MemoryStore, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem},
    tool, toolset,
};
use tool_server::{AgUi, BearerToken, Server};
use tower::ServiceExt as _;

/// The size of a long message, in bytes.
const LONG: usize = 300_000;

fn server(store: impl Store + 'static) -> Server {
    server_of(agent(store))
}

fn server_of(agent: Agent) -> Server {
    let users = BearerToken::of([("anna", "anna"), ("ben", "ben")]);
    Server::new(agent).ag_ui(AgUi::new()).authenticate(users)
}

fn agent(store: impl Store + 'static) -> Agent {
    let model = FunctionModel::streaming(|_| {
        stream::iter([Ok(Delta::Text("Hello.".to_owned())), Ok(Delta::Finish(FinishReason::Stop))])
    });
    Agent::new(model).store(store)
}

async fn request(router: &Router, by: &str, method: &str, path: &str, body: &Value) -> Response {
    let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
    let request = request
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {by}"))
        .body(Body::from(body.to_string()));
    router.clone().oneshot(request.unwrap()).await.unwrap()
}

async fn read(response: Response) -> String {
    String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
}

/// Makes a chat with a message of `length` bytes.
async fn make(router: &Router, by: &str, chat: &str, length: usize) {
    let prompt = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "x".repeat(length) }] });
    let body = json!({ "id": chat, "messages": [prompt] });
    let text = read(request(router, by, "POST", "/api/chat", &body).await).await;
    assert!(text.contains("Hello."), "{text}");
}

/// Loads a chat over one of the two protocols.
async fn load(router: &Router, by: &str, chat: &str, over_ag_ui: bool) -> Response {
    if over_ag_ui {
        let body = json!({ "threadId": chat, "runId": chat, "protocolVersion": "1.0", "messages": [] });
        return request(router, by, "POST", "/agent/connect", &body).await;
    }
    request(router, by, "GET", &format!("/api/chat/{chat}"), &Value::Null).await
}

#[tokio::test]
async fn the_long_chats_that_a_principal_loads_take_no_room_of_another() {
    let router = server(MemoryStore::new()).max_total_replay_bytes(1 << 20).router();
    for chat in ["1", "2", "3"] {
        make(&router, "anna", chat, LONG).await;
    }
    make(&router, "anna", "short", 10).await;
    make(&router, "ben", "1", LONG).await;
    for over_ag_ui in [false, true] {
        // Nobody reads these bodies. The readers of one chat share it.
        let mut unread = Vec::new();
        for _ in 0..20 {
            let loaded = load(&router, "anna", "1", over_ag_ui).await;
            assert_eq!(loaded.status(), 200);
            unread.push(loaded);
        }
        for chat in ["2", "3"] {
            let refused = load(&router, "anna", chat, over_ag_ui).await;
            assert_eq!(refused.status(), 503, "a quarter of 1 MiB is the part of a principal");
            let text = read(refused).await;
            assert!(text.contains(r#""code":"unavailable""#) && text.contains("too many long chats"), "{text}");
        }
        // Short chats and those of others are loaded.
        for (by, chat) in [("anna", "short"), ("ben", "1")] {
            let text = read(load(&router, by, chat, over_ag_ui).await).await;
            assert!(text.contains("Hello."), "{text}");
        }
        drop(unread);
        let text = read(load(&router, "anna", "2", over_ag_ui).await).await;
        assert!(text.len() > LONG && text.contains("Hello."));
    }
}

/// A transcript that others receive is sent to nobody once the chat has changed.
#[tokio::test]
async fn a_shared_transcript_shows_the_chat_as_it_is() {
    let router = server(MemoryStore::new()).router();
    make(&router, "anna", "c", LONG).await;
    for (at, over_ag_ui) in [false, true, false, true].into_iter().enumerate() {
        let unread = [load(&router, "anna", "c", over_ag_ui).await, load(&router, "anna", "c", over_ag_ui).await];
        let id = format!("later-{at}");
        let prompt = json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": "And?" }] });
        let body = json!({ "id": "c", "messages": [prompt] });
        read(request(&router, "anna", "POST", "/api/chat", &body).await).await;
        for response in unread {
            assert!(!read(response).await.contains(&id), "a message of later");
        }
        assert!(read(load(&router, "anna", "c", over_ag_ui).await).await.contains(&id));
    }
    // Each request has its own name in its frames, and its own state.
    let connect = async |run: &str| {
        let body =
            json!({ "threadId": "c", "runId": run, "protocolVersion": "1.0", "messages": [], "state": { "of": run } });
        request(&router, "anna", "POST", "/agent/connect", &body).await
    };
    let (first, second) = (connect("first").await, connect("second").await);
    let [first, second] = [read(first).await, read(second).await];
    assert!(!second.contains("first") && second.matches("second").count() == 3, "the beginning, the state and the end");
    assert_eq!(first.replace("first", "second"), second);
    assert_eq!(request(&router, "anna", "DELETE", "/api/chat/c", &Value::Null).await.status(), 204);
    assert_eq!(load(&router, "anna", "c", false).await.status(), 404);
}

/// A store that loads no run of Anna's until the gate opens.
struct Gated {
    store: MemoryStore,
    gate: Arc<Semaphore>,
    /// The number of loads that wait at the gate.
    waiting: Arc<AtomicUsize>,
}

macro_rules! pass_on {
    ($($name:ident($($value:ident: $type:ty),*) -> $out:ty;)*) => {$(
        fn $name<'a>(&'a self, $($value: $type),*) -> BoxFuture<'a, Result<$out, StoreError>> {
            self.store.$name($($value),*)
        }
    )*};
}

#[allow(clippy::elidable_lifetime_names, reason = "the types of most values name it")]
impl Store for Gated {
    pass_on! {
        append(run: &'a RunId, append: Append) -> ();
        read(run: &'a RunId, rev: u64) -> Vec<Record>;
        save_snapshot(run: &'a RunId, rev: u64, text: String) -> ();
        lease(run: &'a RunId, worker: &'a str, now: Timestamp, ttl: Duration) -> Lease;
        release(run: &'a RunId, lease: &'a Lease) -> ();
        waiting(filter: &'a WaitingFilter) -> Vec<WaitingItem>;
        due(now: Timestamp, limit: usize) -> Vec<RunId>;
        list(owner: &'a Principal, page: Range<usize>) -> Vec<RunItem>;
        delete(run: &'a RunId) -> bool;
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        async move {
            if run.as_str().contains(":anna:") {
                self.waiting.fetch_add(1, Ordering::SeqCst);
                self.gate.acquire().await.unwrap().forget();
                self.waiting.fetch_sub(1, Ordering::SeqCst);
            }
            self.store.load(run).await
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn the_loads_of_a_principal_leave_places_for_others() {
    let (gate, waiting) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let store = Gated { store: MemoryStore::new(), gate: Arc::clone(&gate), waiting: Arc::clone(&waiting) };
    let router = server(store).router();
    for chat in 0..40 {
        make(&router, "anna", &chat.to_string(), 10).await;
    }
    make(&router, "ben", "1", 10).await;
    let loads: Vec<_> = (0..40)
        .map(|chat| {
            let (router, over_ag_ui) = (router.clone(), chat % 2 == 0);
            tokio::spawn(async move { load(&router, "anna", &chat.to_string(), over_ag_ui).await.status().as_u16() })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(waiting.load(Ordering::SeqCst), 4, "the places of one principal");
    for over_ag_ui in [false, true] {
        assert_eq!(load(&router, "ben", "1", over_ag_ui).await.status(), 200);
    }
    // The others wait, but not for ever.
    tokio::time::sleep(Duration::from_secs(20)).await;
    gate.add_permits(1000);
    let mut statuses = Vec::new();
    for load in loads {
        statuses.push(load.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200; 4], vec![503; 36]].concat());
    assert_eq!(load(&router, "anna", "7", false).await.status(), 200);
}

/// Note something.
#[tool(effect = write, approval = always)]
fn note() -> &'static str {
    "noted"
}

#[tokio::test(start_paused = true)]
async fn the_decisions_of_a_principal_leave_places_for_others() {
    let (gate, waiting) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let store = Gated { store: MemoryStore::new(), gate: Arc::clone(&gate), waiting: Arc::clone(&waiting) };
    let model = FunctionModel::new(|request| match request.messages.last() {
        Some(Message::User { .. }) => Turn::call("note", "{}"),
        _ => Turn::say("Hello."),
    });
    let router = server_of(Agent::new(model).tools(toolset!(note)).store(store)).router();
    let prompt = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Note it." }] });
    for chat in 0..20 {
        let body = json!({ "id": chat.to_string(), "messages": [prompt] });
        read(request(&router, "anna", "POST", "/api/chat", &body).await).await;
    }
    let body = json!({ "id": "1", "messages": [prompt] });
    read(request(&router, "ben", "POST", "/api/chat", &body).await).await;
    let listed = read(request(&router, "anna", "GET", "/api/waiting?limit=20", &Value::Null).await).await;
    let decisions: Vec<_> = serde_json::from_str::<Vec<Value>>(&listed)
        .unwrap()
        .into_iter()
        .map(|item| {
            let (router, body) =
                (router.clone(), json!({ "run": item["run"], "id": item["id"], "decision": "approve" }));
            tokio::spawn(async move { request(&router, "anna", "POST", "/api/waiting", &body).await.status().as_u16() })
        })
        .collect();
    assert_eq!(decisions.len(), 20);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(waiting.load(Ordering::SeqCst), 4, "the places of one principal");
    assert_eq!(load(&router, "ben", "1", false).await.status(), 200);
    tokio::time::sleep(Duration::from_secs(20)).await;
    gate.add_permits(1000);
    let mut statuses = Vec::new();
    for decision in decisions {
        statuses.push(decision.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![204; 4], vec![503; 16]].concat());
}

/// A chat that was deleted is not shown in place of a new one with its id, although a client still receives it.
#[tokio::test]
async fn a_deleted_chat_is_gone_while_a_client_receives_it() {
    let router = server(MemoryStore::new()).router();
    make(&router, "anna", "c", LONG).await;
    let slow = request(&router, "anna", "GET", "/api/chat/c", &Value::Null).await;
    assert_eq!(request(&router, "anna", "DELETE", "/api/chat/c", &Value::Null).await.status(), 204);
    make(&router, "anna", "c", 10).await;
    let new = read(request(&router, "anna", "GET", "/api/chat/c", &Value::Null).await).await;
    assert!(new.len() < 1000, "{} bytes of the deleted chat", new.len());
    assert!(read(slow).await.len() > LONG);
}
