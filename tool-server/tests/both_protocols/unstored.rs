//! Tests of requests that come while the first record of a regenerated answer is not stored.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    http::{Request, header},
};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent,
    model::FunctionModel,
    run::{Principal, RunId, Timestamp},
    store::{Append, Lease, MemoryStore, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem},
};
use tool_server::{AgUi, Server};
use tool_test_kit::within;

use super::shared_store::send;
use crate::{
    kit::{Response, input, user},
    model::{Step, play},
};

/// A store in memory that takes the records of second runs only with a permit.
struct GatedStore {
    inner: MemoryStore,
    permits: Semaphore,
    /// Set once a record has waited.
    waits: AtomicBool,
    /// Set if there is no room for them.
    is_full: bool,
}

impl GatedStore {
    fn new(is_full: bool) -> Arc<Self> {
        let (inner, permits, waits) = (MemoryStore::new(), Semaphore::new(0), AtomicBool::new(false));
        Arc::new(Self { inner, permits, waits, is_full })
    }

    async fn wait_for_record(&self) {
        let begun = async {
            while !self.waits.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within("the first record", begun).await;
    }
}

impl Store for GatedStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if run.as_str().starts_with("2:") {
                self.waits.store(true, Ordering::SeqCst);
                drop(self.permits.acquire().await.expect("it is never closed"));
                if self.is_full {
                    return Err(StoreError::Full { of_owner: true });
                }
            }
            self.inner.append(run, append).await
        })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        self.inner.load(run)
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.inner.read(run, rev)
    }

    fn save_snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.save_snapshot(run, rev, text)
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Timestamp,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        self.inner.lease(run, worker, now, ttl)
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.release(run, lease)
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        self.inner.waiting(filter)
    }

    fn due(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        self.inner.due(now, limit)
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        self.inner.list(owner, page)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.delete(run)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_regenerated_answer_can_be_read_before_its_first_record() {
    let script = serde_json::to_string(&[[Step::Text("Hello.".to_owned())]]).unwrap();
    let parts = json!([{ "type": "text", "text": script }]);
    let message = json!({ "id": "m1", "role": "user", "parts": parts });
    let chat = json!({ "id": "c", "messages": [message], "resumable": true });
    let mut regenerated = chat.clone();
    regenerated["trigger"] = "regenerate-message".into();
    let thread = |run: &str| input("c", &json!([user("m1", &script)]), &json!({ "runId": run })).parse().unwrap();
    let connect = || ("/agent/connect", input("c", &json!([]), &json!({ "runId": "connecting" })));
    let none = String::new;
    let cases = [
        ("/api/chat", [chat, regenerated], [("/api/chat/c", none()), ("/api/chat/c/stream", none())]),
        ("/agent", [thread("first"), thread("second")], [("/agent/c/stream", none()), connect()]),
    ];
    for (path, [first, second], readers) in cases {
        let store = GatedStore::new(false);
        let agent = Agent::new(FunctionModel::streaming(play)).store(Arc::clone(&store) as Arc<dyn Store>);
        let router = Server::new(agent).ag_ui(AgUi::new().detach(|_| true)).router();
        let ask = |path: &str, body: String| -> tokio::task::JoinHandle<Response> {
            let uri = format!("http://localhost{path}");
            let request = if body.is_empty() { Request::get(uri) } else { Request::post(uri) };
            tokio::spawn(send(
                router.clone(),
                request.header(header::CONTENT_TYPE, "application/json"),
                Body::from(body),
            ))
        };
        assert_eq!(ask(path, first.to_string()).await.unwrap().status, 200);
        let regenerated = ask(path, second.to_string());
        store.wait_for_record().await;
        // A client of the other protocol reads the chat as it was.
        let (other, body) = if path == "/agent" { ("/api/chat/c", String::new()) } else { connect() };
        let other = within("the other protocol", ask(other, body)).await.unwrap();
        assert!(other.status == 200 && other.text.contains("Hello."), "{path}: {}", other.text);
        let readers = readers.map(|(path, body)| (path, ask(path, body)));
        // More than a client that only has to wait for a fast store.
        tokio::time::sleep(Duration::from_secs(1)).await;
        store.permits.add_permits(1);
        for (reader, response) in readers {
            let response = within("a reader", response).await.unwrap();
            // The answer may have ended before its stream was read.
            let is_over = response.status == 204 && reader.ends_with("/stream");
            assert!(response.status == 200 || is_over, "{reader}: {} {}", response.status, response.text);
        }
        assert!(within("the answer", regenerated).await.unwrap().text.contains("\"Hello.\""));
    }
}

/// A page that is loaded meanwhile must not keep the answer from its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_store_ends_an_answer_at_once() {
    let script = serde_json::to_string(&[[Step::Text("Hello.".to_owned())]]).unwrap();
    let message = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": script }] });
    let mut chat = json!({ "id": "c", "messages": [message], "resumable": true });
    let thread = |run: &str| input("c", &json!([user("m1", &script)]), &json!({ "runId": run }));
    let first = chat.to_string();
    chat["trigger"] = "regenerate-message".into();
    let cases = [
        ("/api/chat", [first, chat.to_string()], ("/api/chat/c", String::new())),
        ("/agent", [thread("first"), thread("second")], ("/agent/connect", thread("connecting"))),
    ];
    for (path, [first, second], (reader, body)) in cases {
        let store = GatedStore::new(true);
        let agent = Agent::new(FunctionModel::streaming(play)).store(Arc::clone(&store) as Arc<dyn Store>);
        let router = Server::new(agent).ag_ui(AgUi::new().detach(|_| true)).router();
        let ask = |path: &str, body: String| {
            let uri = format!("http://localhost{path}");
            let request = if body.is_empty() { Request::get(uri) } else { Request::post(uri) };
            let request = request.header(header::CONTENT_TYPE, "application/json");
            tokio::spawn(send(router.clone(), request, Body::from(body)))
        };
        assert_eq!(ask(path, first).await.unwrap().status, 200);
        let regenerated = ask(path, second);
        store.wait_for_record().await;
        let read = ask(reader, body);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let began = Instant::now();
        store.permits.add_permits(1);
        let regenerated = within("the answer", regenerated).await.unwrap();
        assert!(regenerated.text.contains("your chats take up all the room"), "{path}: {}", regenerated.text);
        let read = within("a reader", read).await.unwrap();
        assert!(read.status == 200 && read.text.contains("Hello."), "{path}: {}", read.text);
        assert!(began.elapsed() < Duration::from_secs(5), "{path}: {:?}", began.elapsed());
    }
}
