//! Requests of frontends to every route of a server. Each line is a request: its caller, its method, its path and its body. A `&`
//! after the caller sends the request beside the following ones. A first line `sealed` makes the server stateless; `$seal` in a body
//! stands for the last sealed run of a response, and `call_1.1-$` for the whole id of that interrupt.
//!
//! No request fails internally, hangs or changes chats of others. A refused request changes nothing. A tool runs only if a request
//! approves.

#![no_main]

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
    http::{Method, Request, Uri, header, request::Parts},
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use serde_json::Value;
use tokio::task::JoinSet;
use tool_runtime::{
    Agent, Context, Failure, Message, Provide,
    agent::Caller,
    model::{Delta, FinishReason, FunctionModel, ModelError, OwnedRequest},
    run::Principal,
    store::{MemoryStore, Store},
    tool, toolset,
};
use tool_server::{AgUi, ApiError, Authenticate, Server, protocol::ag_ui::ArgumentCheck};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tower::ServiceExt;

/// The maximum number of requests of an input.
const MAX_REQUESTS: usize = 8;

/// The callers.
const CALLERS: [&str; 2] = ["anna", "bert"];

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tool_fuzz::mutate_lines(data, size, max_size, seed)
});

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = str::from_utf8(data) else { return Corpus::Reject };
    if tool_fuzz::runtime().block_on(send_all(text)) == 0 { Corpus::Reject } else { Corpus::Keep }
});

/// Sends the requests of a text. Returns their number.
async fn send_all(text: &str) -> usize {
    let (is_sealed, text) = match text.strip_prefix("sealed\n") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let world = World::new(is_sealed);
    let (mut seen, mut approves, mut sent) = (Seen::default(), false, 0);
    let mut beside = JoinSet::new();
    for line in text.lines().take(MAX_REQUESTS) {
        let Some(request) = Line::read(line, &seen) else { continue };
        sent += 1;
        approves |= approves_something(&request.body);
        let (router, caller, is_beside) = (world.router.clone(), request.caller, request.is_beside);
        let before = world.chats().await;
        let answer = answer(router, request);
        if is_beside {
            beside.spawn(answer);
            tokio::task::yield_now().await;
            continue;
        }
        let (status, body) = answer.await;
        tool_fuzz::show(format_args!("{line}\n{status} {body}\n"));
        seen.receive(&body);
        if beside.is_empty() {
            let after = world.chats().await;
            assert!(
                status < 400 || after == before,
                "a refused request changed something: {line}\n{status} {body}\n{before:#?}\n{after:#?}"
            );
            let of_others =
                |chats: &[Chat]| chats.iter().filter(|chat| chat.owner != caller).cloned().collect::<Vec<_>>();
            assert_eq!(of_others(&after), of_others(&before), "a request changed a chat of another caller: {line}");
        }
        assert!(approves || world.wiped.load(Ordering::SeqCst) == 0, "a tool ran without an approval: {line}");
    }
    while let Some(ended) = beside.join_next().await {
        ended.expect("a request does not panic");
    }
    sent
}

/// What responses contain that later requests refer to.
#[derive(Default)]
struct Seen {
    seal: String,
    /// The ids of interrupts, which end with a digest.
    interrupts: Vec<String>,
}

impl Seen {
    fn receive(&mut self, body: &str) {
        for text in body.split(['"', '\\']) {
            if text.starts_with("tool-run-1.") {
                text.clone_into(&mut self.seal);
            } else if let Some((id, digest)) = text.rsplit_once('-')
                && digest.len() == 16
                && id.contains('.')
                && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !self.interrupts.iter().any(|known| known == text)
            {
                self.interrupts.push(text.to_owned());
            }
        }
    }

    fn fill(&self, body: &str) -> String {
        let body = body.replace("$seal", &self.seal);
        // The last one of an id is that of the last run.
        self.interrupts.iter().rev().fold(body, |body, id| match id.rsplit_once('-') {
            Some((short, _)) => body.replace(&format!("\"{short}-$\""), &format!("\"{id}\"")),
            None => body,
        })
    }
}

/// A request.
struct Line {
    caller: &'static str,
    is_beside: bool,
    method: Method,
    uri: Uri,
    body: String,
}

impl Line {
    fn read(line: &str, seen: &Seen) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        let (caller, method, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (caller, is_beside) = caller.strip_suffix('&').map_or((caller, false), |caller| (caller, true));
        let path = path.strip_prefix('/')?;
        Some(Self {
            caller: CALLERS.into_iter().find(|known| *known == caller)?,
            is_beside,
            method: method.parse().ok()?,
            uri: format!("http://localhost/{path}").parse().ok()?,
            body: seen.fill(parts.next().unwrap_or_default()),
        })
    }
}

/// Returns whether a body may approve a call, or answer a question.
fn approves_something(body: &str) -> bool {
    // Without the escapes of JSON.
    let text = serde_json::from_str::<Value>(body).map_or(body.to_owned(), |value| value.to_string());
    text.contains("approv")
}

/// Sends a request. Returns the status and the body of the response.
async fn answer(router: Router, line: Line) -> (u16, String) {
    let is_head = line.method == Method::HEAD;
    let request = Request::builder().method(line.method).uri(line.uri);
    let request = request.header(header::CONTENT_TYPE, "application/json").header("x-user", line.caller);
    let request = request.body(Body::from(line.body)).expect("a request");
    let answer = async {
        let response = router.oneshot(request).await.expect("a router does not fail");
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.expect("a whole body");
        (head, String::from_utf8(bytes.to_vec()).expect("bodies are UTF-8"))
    };
    let (head, body) = tokio::time::timeout(Duration::from_secs(600), answer).await.expect("a response ends");
    assert!(head.status.as_u16() < 500, "{}: {body}", head.status);
    let kind = head.headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().expect("ASCII"));
    match kind {
        Some("application/json") if !is_head => drop(serde_json::from_str::<Value>(&body).expect("a JSON body")),
        Some("text/event-stream") if !is_head => {
            assert!(body.is_empty() || body.ends_with("\n\n"), "the last event is whole");
            for data in body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]") {
                serde_json::from_str::<Value>(data).expect("an event is JSON");
            }
        }
        _ => {}
    }
    (head.status.as_u16(), body)
}

/// A stored run.
#[derive(Clone, Debug, PartialEq)]
struct Chat {
    owner: &'static str,
    run: String,
    title: Option<String>,
    records: Vec<String>,
}

/// A server, and what it changes.
struct World {
    router: Router,
    store: Arc<MemoryStore>,
    wiped: Arc<AtomicUsize>,
}

impl World {
    fn new(is_sealed: bool) -> Self {
        let (store, wiped) = (Arc::new(MemoryStore::new()), Arc::new(AtomicUsize::new(0)));
        let tools = toolset!(State { wiped: Arc::clone(&wiped) }; wipe, Locate, look);
        let agent =
            Agent::new(FunctionModel::streaming(|asked| play(&asked).boxed())).tools(tools).store(Arc::clone(&store));
        let mut server = Server::new(agent).authenticate(Named).ag_ui(AgUi::new().check(ArgumentCheck::Report));
        if is_sealed {
            let keys = Keyring::new("test", Key::from_bytes([7; 32]));
            server = server.stateless(&keys, "test", Arc::new(MemoryNonces::new()));
        }
        Self { router: server.router(), store, wiped }
    }

    /// Waits until nothing is left to do, and returns all stored runs.
    async fn chats(&self) -> Vec<Chat> {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut all = Vec::new();
        for owner in CALLERS {
            for item in self.store.list(&Principal::from(owner), 0..1000).await.expect("a list") {
                let records = self.store.read(&item.run, 0).await.expect("a listed run");
                let records = records.into_iter().map(|record| record.text).collect();
                all.push(Chat { owner, run: item.run.to_string(), title: item.title, records });
            }
        }
        all
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

/// Ask where to look.
#[tool(effect = read_only)]
async fn look(#[context] cx: &Context) -> Result<String, Failure> {
    let place: String = cx.ask("Where?").await?;
    Ok(format!("nothing in {place}"))
}

/// Authentication that believes the client.
struct Named;

impl Authenticate for Named {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Caller, ApiError>> {
        let name = request.headers.get("x-user").and_then(|name| name.to_str().ok()).expect("a caller");
        std::future::ready(Ok(Caller::new(name))).boxed()
    }
}

/// Calls the tools that the prompt names, slowly if it says so, and answers with a word after their results.
fn play(asked: &OwnedRequest) -> impl futures_util::Stream<Item = Result<Delta, ModelError>> + Send + use<> {
    let last = asked.messages.last().map(|message| format!("{message:?}")).unwrap_or_default();
    let is_prompt = matches!(asked.messages.last(), Some(Message::User { .. }));
    let before = asked.messages.iter().map(|message| match message {
        Message::Assistant { content } => content.len(),
        _ => 0,
    });
    let mut number: usize = before.sum();
    let mut deltas = vec![Delta::Reasoning("Hm.".to_owned()), Delta::Text("Well.".to_owned())];
    let mut reason = FinishReason::Stop;
    let tools = [("wipe", r#"{"disk":"a"}"#), ("Locate", "{}"), ("look", "{}"), ("paint", r#"{"colour":"red"}"#)];
    for (index, (name, arguments)) in tools.into_iter().filter(|(name, _)| is_prompt && last.contains(name)).enumerate()
    {
        // The corpus has the same ids.
        number += 1;
        deltas.push(Delta::CallStart { index, id: format!("call_{number}"), name: name.to_owned() });
        deltas.push(Delta::CallArguments { index, text: arguments.to_owned() });
        deltas.push(Delta::CallEnd { index });
        reason = FinishReason::ToolCalls;
    }
    deltas.push(Delta::Finish(reason));
    let pause = Duration::from_secs(if last.contains("slow") { 1 } else { 0 });
    stream::iter(deltas).then(move |delta| async move {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Ok(delta)
    })
}
