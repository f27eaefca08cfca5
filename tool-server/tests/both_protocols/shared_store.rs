//! Tests of several servers with one store, without sticky sessions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, BodyDataStream, to_bytes},
    http::{Request, header},
};
use futures_util::{StreamExt as _, future::BoxFuture};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinHandle};
use tool_runtime::{
    Agent,
    model::FunctionModel,
    run::{Phase, Run},
    store::Store,
    tool, toolset,
};
use tool_server::{AgUi, Server, ShutdownHandle};
use tool_test_kit::{
    stores::{Schema, Stores},
    within,
};
use tower::ServiceExt;

use crate::{
    kit::{Response, input, post, user},
    model::{Step, play},
    tools::working,
};

/// Pays.
#[tool(approval = always, effect = destructive)]
fn pay(#[state] paid: &AtomicUsize) -> &'static str {
    paid.fetch_add(1, Ordering::SeqCst);
    "paid"
}

/// The run of the chat `c`.
const RUN: &str = "1:9:anonymous:c";

/// The lease in tests in which no server ends. It is long, so that a slow server does not lose it.
const LEASE: Duration = Duration::from_mins(1);

/// The character that makes the model wait before its delta.
const PAUSE: char = '⏸';

struct Fleet {
    servers: Vec<(Router, ShutdownHandle)>,
    agents: Vec<Agent>,
    /// Permits for the tool `work`.
    done: Arc<Semaphore>,
    /// Permits for the model.
    more: Arc<Semaphore>,
    paid: Arc<AtomicUsize>,
}

impl Fleet {
    /// Starts three servers whose leases last for `lease`, with two handles of the store.
    fn new(stores: &Stores, lease: Duration) -> Self {
        let (tools, done) = working();
        let (paid, more) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let tools = tools.merge(toolset!(Arc::clone(&paid); pay)).unwrap();
        let agent = |store: Arc<dyn Store>| {
            let permits = Arc::clone(&more);
            let model = FunctionModel::streaming(move |request| play(request).then(pause(&permits)));
            Agent::new(model).tools(tools.clone()).store(store).lease_time(lease)
        };
        let server = |agent: &Agent| {
            let server = Server::new(agent.clone()).ag_ui(AgUi::new());
            let handle = server.shutdown_handle();
            (server.router(), handle)
        };
        let agents: Vec<Agent> = (0..3).map(|number| agent(stores.nth(number))).collect();
        Self { servers: agents.iter().map(server).collect(), agents, done, more, paid }
    }

    fn router(&self, number: usize) -> Router {
        self.servers[number].0.clone()
    }

    async fn get(&self, number: usize, path: &str) -> Response {
        send(self.router(number), Request::get(format!("http://localhost{path}")), Body::empty()).await
    }

    async fn post(&self, number: usize, path: &str, body: &Value) -> Response {
        let request = Request::post(format!("http://localhost{path}")).header(header::CONTENT_TYPE, "application/json");
        send(self.router(number), request, Body::from(body.to_string())).await
    }

    /// Sends a request, and waits until the text of the first turn has arrived. Returns the task that reads the rest.
    async fn follow(&self, number: usize, request: Request<Body>) -> JoinHandle<Response> {
        let mut reading = Reading::begin(self.router(number), request).await;
        // Quotes in a message that holds the script are escaped, so they differ from those around a delta.
        reading.read_until("\"I work.\"").await;
        tokio::spawn(reading.read_rest())
    }

    /// Begins a response, and waits until the store has its run.
    async fn begin(self: &Arc<Self>, number: usize, path: &'static str, body: Value) -> JoinHandle<Response> {
        let fleet = Arc::clone(self);
        let response = tokio::spawn(async move { fleet.post(number, path, &body).await });
        // Before that, other servers do not know the run.
        self.wait_until_in_progress(RUN).await;
        response
    }

    /// Waits until the store has a run whose model or tools work.
    async fn wait_until_in_progress(&self, run: &str) {
        self.wait_until(run, |run| matches!(run.phase(), Phase::Generating | Phase::Acting)).await;
    }

    /// Waits until a call of a run was started `attempts` times.
    async fn wait_until_started(&self, run: &str, attempts: u32) {
        self.wait_until(run, |run| run.calls().iter().any(|call| call.attempts >= attempts)).await;
    }

    /// Waits until the store has a run for which `holds` returns `true`.
    async fn wait_until(&self, run: &str, holds: impl Fn(&Run) -> bool) {
        let held = async {
            while !self.agents[0].open(&run.into()).await.is_ok_and(|session| holds(session.run())) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        within("a run", held).await;
    }
}

/// A stream, and the text that it has delivered.
struct Reading {
    status: u16,
    bytes: BodyDataStream,
    text: String,
}

impl Reading {
    async fn begin(router: Router, request: Request<Body>) -> Self {
        let response = router.oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        Self { status, bytes: response.into_body().into_data_stream(), text: String::new() }
    }

    /// Reads the next piece. Returns `false` at the end.
    async fn read_next(&mut self) -> bool {
        let Some(piece) = self.bytes.next().await else { return false };
        self.text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        true
    }

    /// Reads until `part` has arrived.
    async fn read_until(&mut self, part: &str) {
        let arrives = async {
            while !self.text.contains(part) {
                assert!(self.read_next().await, "no {part}: {}", self.text);
            }
        };
        within("the other server's stream", arrives).await;
    }

    async fn read_rest(mut self) -> Response {
        while self.read_next().await {}
        Response { status: self.status, text: self.text.replace("data: [DONE]\n\n", "") }
    }
}

fn get(path: &str) -> Request<Body> {
    Request::get(format!("http://localhost{path}")).body(Body::empty()).unwrap()
}

/// Returns a function that waits for a permit before each delta that contains [`PAUSE`].
fn pause<D: std::fmt::Debug + Send + 'static>(
    permits: &Arc<Semaphore>,
) -> impl Fn(D) -> BoxFuture<'static, D> + Send + use<D> {
    let permits = Arc::clone(permits);
    move |delta| {
        let permits = Arc::clone(&permits);
        Box::pin(async move {
            if format!("{delta:?}").contains(PAUSE) {
                permits.acquire().await.unwrap().forget();
            }
            delta
        })
    }
}

/// Sends a request, and reads the response to its end.
pub(crate) async fn send(router: Router, request: axum::http::request::Builder, body: Body) -> Response {
    let response = router.oneshot(request.body(body).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    Response { status, text: String::from_utf8(bytes.to_vec()).unwrap().replace("data: [DONE]\n\n", "") }
}

/// Returns a script that writes text and calls `work`, then writes text and calls `pay`.
fn script() -> String {
    let work = vec![Step::Text("I work.".to_owned()), Step::Call("work".to_owned()), Step::End(0)];
    let pay = vec![Step::Text("I pay.".to_owned()), Step::Call("pay".to_owned()), Step::End(0)];
    serde_json::to_string(&[work, pay]).unwrap()
}

pub(crate) fn chat(id: &str, text: &str) -> Value {
    let parts = json!([{ "type": "text", "text": text }]);
    json!({ "id": "c", "messages": [{ "id": id, "role": "user", "parts": parts }], "resumable": true })
}

/// Returns the events, without the members that differ between two readers of one response.
fn events(response: &Response) -> Vec<Value> {
    let mut events = response.events();
    for event in &mut events {
        let fields = event.as_object_mut().unwrap();
        fields.retain(|name, _| !["messageId", "parentMessageId", "runId", "timestamp", "id"].contains(&name.as_str()));
    }
    events
}

/// Runs `check` with a store in memory, and with PostgreSQL.
async fn with_each_store(lease: Duration, check: impl AsyncFn(Arc<Fleet>)) {
    check(Arc::new(Fleet::new(&Stores::memory(), lease))).await;
    let schema = Schema::new();
    check(Arc::new(Fleet::new(&schema.stores().await, lease))).await;
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_is_followed_on_a_second_server_and_decided_on_a_third() {
    with_each_store(LEASE, async |fleet| {
        let response = fleet.begin(0, "/api/chat", chat("m1", &script())).await;
        let followed = fleet.follow(1, get("/api/chat/c/stream")).await;
        // On every server, the loaded chat leaves out the response in progress, which the page reads as a stream.
        let loaded = fleet.get(2, "/api/chat/c").await;
        let loaded: Value = serde_json::from_str(&loaded.text).unwrap();
        assert_eq!(loaded.as_array().unwrap().len(), 1, "{loaded}");
        fleet.done.add_permits(1);
        let (response, followed) = (response.await.unwrap(), followed.await.unwrap());
        assert_eq!(events(&followed), events(&response));
        // The same decision on two servers counts once.
        let approval = response.event("tool-approval-request")["approvalId"].as_str().unwrap().to_owned();
        let loaded: Value = serde_json::from_str(&fleet.get(2, "/api/chat/c").await.text).unwrap();
        let decided = json!({
            "id": "c", "messages": loaded, "decisions": { approval: { "decision": "approve" } }, "resumable": true,
        });
        let (one, other) = tokio::join!(fleet.post(2, "/api/chat", &decided), fleet.post(1, "/api/chat", &decided));
        assert!(one.status == 200 || other.status == 200, "{} {}", one.text, other.text);
        for response in [one, other].iter().filter(|response| response.status == 200) {
            assert!(response.text.contains("done") && response.text.contains("paid"), "{}", response.text);
        }
        assert_eq!(fleet.paid.load(Ordering::SeqCst), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_of_ag_ui_is_followed_and_loaded_on_other_servers() {
    with_each_store(LEASE, async |fleet| {
        let prompt = user("m1", &script());
        let body = input("c", &json!([prompt]), &json!({}));
        let response = fleet.begin(0, "/agent", serde_json::from_str(&body).unwrap()).await;
        let replayed = fleet.follow(1, get("/agent/c/stream")).await;
        let empty = input("c", &json!([]), &json!({}));
        let connect = Request::post("http://localhost/agent/connect").header(header::CONTENT_TYPE, "application/json");
        let connected = fleet.follow(2, connect.body(Body::from(empty.clone())).unwrap()).await;
        fleet.done.add_permits(1);
        let (response, replayed, connected) =
            (response.await.unwrap(), replayed.await.unwrap(), connected.await.unwrap());
        // The client gets the messages before the response first, so that it begins the response anew.
        let mut kinds = response.kinds();
        kinds.splice(1..1, ["MESSAGES_SNAPSHOT"; 2].map(str::to_owned));
        assert_eq!(replayed.kinds(), kinds);
        let snapshots = replayed.events().into_iter().filter_map(|event| event.get("messages").cloned());
        assert_eq!(snapshots.collect::<Vec<_>>(), [json!([]), json!([prompt])]);
        let snapshot = connected.event("MESSAGES_SNAPSHOT");
        assert_eq!(snapshot["messages"][0]["id"], "m1");
        assert_eq!(connected.event("TOOL_CALL_RESULT")["content"], "worked");
        assert_eq!(connected.event("RUN_FINISHED")["outcome"]["type"], "interrupt");
        assert_eq!(post(&fleet.router(0), empty).await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_server_stops_and_replaces_the_response_of_another() {
    with_each_store(LEASE, async |fleet| {
        let response = fleet.begin(0, "/api/chat", chat("m1", &script())).await;
        assert_eq!(fleet.post(1, "/api/chat/c/stop", &json!({})).await.status, 204);
        assert!(!response.await.unwrap().text.contains("I pay."));
        let response = fleet.begin(2, "/api/chat", chat("m2", &script())).await;
        let prompt = serde_json::to_string(&[[Step::Text("Something else.".to_owned())]]).unwrap();
        let other = fleet.post(0, "/api/chat", &chat("m3", &prompt)).await;
        assert!(other.text.contains("Something else."), "{}", other.text);
        assert!(!response.await.unwrap().text.contains("I pay."));
    })
    .await;
}

/// The server that drives the run has the text, and adds it to the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_on_another_server_keeps_the_text() {
    with_each_store(LEASE, async |fleet| {
        let turn = [Step::Text("Half of it.".to_owned()), Step::Text(format!("{PAUSE}The rest."))];
        let response = fleet.begin(0, "/api/chat", chat("m1", &serde_json::to_string(&[turn]).unwrap())).await;
        let mut reading = Reading::begin(fleet.router(1), get("/api/chat/c/stream")).await;
        reading.read_until("\"Half of it.\"").await;
        assert_eq!(fleet.post(1, "/api/chat/c/stop", &json!({})).await.status, 204);
        response.await.unwrap();
        let loaded: Value = serde_json::from_str(&fleet.get(2, "/api/chat/c").await.text).unwrap();
        assert_eq!(loaded[1]["parts"][1]["text"], "Half of it.", "{loaded}");
        // The next message comes behind it.
        let other = serde_json::to_string(&[[Step::Text("Well.".to_owned())]]).unwrap();
        fleet.post(2, "/api/chat", &chat("m2", &other)).await;
        let loaded: Value = serde_json::from_str(&fleet.get(1, "/api/chat/c").await.text).unwrap();
        assert_eq!(
            (&loaded[1]["parts"][1]["text"], &loaded[3]["parts"][1]["text"]),
            (&json!("Half of it."), &json!("Well."))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_run_of_an_ended_server_is_taken_over() {
    // The follower waits for the end of the lease, and must not take over before the server has ended.
    with_each_store(Duration::from_secs(5), async |fleet| {
        let response = fleet.begin(0, "/api/chat", chat("m1", &script())).await;
        let followed = fleet.follow(1, get("/api/chat/c/stream")).await;
        fleet.servers[0].1.suspend(Duration::ZERO).await;
        response.await.unwrap();
        // `work` is read-only, so it starts again.
        fleet.done.add_permits(1);
        let followed = followed.await.unwrap();
        assert!(followed.text.contains("I work.") && followed.text.contains("worked"), "{}", followed.text);
        assert!(followed.text.contains("I pay."), "{}", followed.text);
        assert_eq!(followed.event("tool-approval-request")["type"], "tool-approval-request");
        let loaded = fleet.get(2, "/api/chat/c").await.text;
        assert!(loaded.contains("I pay.") && loaded.contains("approval-requested"), "{loaded}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_continues_the_chats_of_others_and_no_other_runs() {
    // No server follows before the first one has ended, so this lease need not outlast a stall.
    with_each_store(Duration::from_secs(3), async |fleet| {
        let response = fleet.begin(0, "/api/chat", chat("m1", &script())).await;
        // This run is the application's own, and its process ends, too.
        let mut job = fleet.agents[0].session_with_id("job", Vec::new());
        let job = tokio::spawn(async move { job.send(script()).await });
        fleet.wait_until_in_progress("job").await;
        fleet.servers[0].1.suspend(Duration::ZERO).await;
        response.await.unwrap();
        fleet.wait_until_started("job", 1).await;
        job.abort();
        assert!(job.await.is_err());
        let left = fleet.agents[0].open(&"job".into()).await.unwrap().run().rev();
        fleet.done.add_permits(2);
        Server::new(fleet.agents[1].clone()).max_takeovers(0).take_over().await;
        let server = Server::new(fleet.agents[1].clone());
        let worker = tokio::spawn(server.take_over());
        let asks = async {
            while !fleet.get(2, "/api/chat/c").await.text.contains("approval-requested") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within("the worker", asks).await;
        // The worker has no more runs, and ends with its server.
        server.shutdown_handle().suspend(Duration::from_mins(1)).await;
        worker.await.unwrap();
        assert_eq!(fleet.agents[0].open(&"job".into()).await.unwrap().run().rev(), left);
        assert_eq!(fleet.paid.load(Ordering::SeqCst), 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_leaves_the_chats_that_it_continues() {
    // No server follows before the first one has ended. The test waits for the end of two leases.
    with_each_store(Duration::from_secs(2), async |fleet| {
        let response = fleet.begin(0, "/api/chat", chat("m1", &script())).await;
        fleet.wait_until_started(RUN, 1).await;
        fleet.servers[0].1.suspend(Duration::ZERO).await;
        response.await.unwrap();
        let server = Server::new(fleet.agents[1].clone());
        let worker = tokio::spawn(server.take_over());
        // The second start of the call shows that the worker has a lease.
        fleet.wait_until_started(RUN, 2).await;
        server.shutdown_handle().suspend(Duration::ZERO).await;
        worker.await.unwrap();
        // The abandoned call may use one permit before it is dropped.
        fleet.done.add_permits(2);
        let response = within("the response", fleet.get(2, "/api/chat/c/stream")).await;
        assert!(response.text.contains("I pay."), "{}", response.text);
    })
    .await;
}

/// Returns the events, with the deltas of each text and of each call's arguments merged.
fn merge_deltas(response: &Response) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    // A client that comes later gets the messages before the response first.
    let is_of_response = |event: &Value| event["type"] != "MESSAGES_SNAPSHOT";
    for mut event in events(response).into_iter().filter(is_of_response) {
        let delta = |event: &Value| ["delta", "inputTextDelta"].into_iter().find(|name| event[*name].is_string());
        if let (Some(name), Some(last)) = (delta(&event), all.last_mut())
            && delta(last) == Some(name)
            && (&last["type"], &last["toolCallId"]) == (&event["type"], &event["toolCallId"])
        {
            let whole = format!("{}{}", last[name].as_str().unwrap(), event[name].as_str().unwrap());
            last[name] = whole.into();
            continue;
        }
        // The outcome depends on the protocol's version, which only some of the requests state.
        event.as_object_mut().unwrap().remove("outcome");
        all.push(event);
    }
    all
}

/// Begins a response whose turn has three pauses. Checks that its stream on another server grows up to each of them.
async fn check_growth(fleet: &Arc<Fleet>, path: &'static str, body: impl Fn(&str) -> Value, stream: &str) {
    let texts = ["I think ⏸of it. ", "I write ⏸about it: "];
    let split = |text: &str| text.split_once(PAUSE).map(|(first, rest)| (first.to_owned(), format!("{PAUSE}{rest}")));
    let [(first, second), (third, fourth)] = texts.map(|text| split(text).unwrap());
    let turn = vec![
        Step::Reasoning(first),
        Step::Reasoning(second),
        Step::Text(third),
        Step::Text(fourth),
        Step::Call("pay".to_owned()),
        Step::Arguments(0, "{ ".to_owned()),
        Step::Arguments(0, format!("\"{PAUSE}\": 1")),
        Step::Arguments(0, " }".to_owned()),
        Step::End(0),
    ];
    let response = fleet.begin(0, path, body(&serde_json::to_string(&[turn]).unwrap())).await;
    let mut reading = Reading::begin(fleet.router(1), get(stream)).await;
    for wanted in ["I think ", "I write ", "{ "] {
        reading.read_until(&format!("\"{wanted}\"")).await;
        fleet.more.add_permits(1);
    }
    let followed = reading.read_rest().await;
    assert_eq!(merge_deltas(&followed), merge_deltas(&response.await.unwrap()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stream_on_another_server_grows_with_the_model_s_turn() {
    with_each_store(LEASE, async |fleet| {
        check_growth(&fleet, "/api/chat", |script| chat("m1", script), "/api/chat/c/stream").await;
    })
    .await;
    with_each_store(LEASE, async |fleet| {
        let body = |script: &str| {
            let body = input("c", &json!([user("m1", script)]), &json!({}));
            serde_json::from_str(&body).unwrap()
        };
        check_growth(&fleet, "/agent", body, "/agent/c/stream").await;
    })
    .await;
}
