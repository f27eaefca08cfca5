//! The server, and the counts of its tools' runs.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::{Stream, StreamExt, future::poll_immediate, stream};
use serde_json::Value;
use tokio::task::yield_now;
use tool_runtime::{
    Agent, Message, Part, Provide,
    model::{Delta, FinishReason, FunctionModel, ModelError, OwnedRequest},
    tool, toolset,
};
use tool_server::{
    AgUi, Router, Server,
    axum::{
        body::{Body, to_bytes},
        http::{Request, header},
    },
};
use tool_stores::sealed::{Key, Keyring};
use tower::ServiceExt;

use crate::lost_connections::slow::{SlowNonces, SlowStore};

/// More polls than any task here needs to end.
const ENOUGH_POLLS: usize = 400;

/// The numbers of starts and ends of a tool.
#[derive(Default)]
pub(crate) struct Count {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Count {
    async fn work(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        for _ in 0..5 {
            yield_now().await;
        }
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the number of runs of the tool. A start without an end is an error.
    pub(crate) fn runs(&self) -> usize {
        let (begun, ended) = (self.begun.load(Ordering::SeqCst), self.ended.load(Ordering::SeqCst));
        assert_eq!(begun, ended, "a call was dropped in the middle of its work");
        ended
    }
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) pay: Count,
    pub(crate) book: Count,
}

#[derive(Provide)]
struct State {
    counts: Arc<Counts>,
}

/// Pay something.
#[tool(effect = destructive, approval = always)]
async fn pay(
    /** In euros. */
    amount: u32,
    #[state] counts: &Arc<Counts>,
) -> String {
    counts.pay.work().await;
    format!("paid {amount}")
}

/// Book something, after all earlier calls.
#[tool(effect = destructive, approval = always, sequential)]
async fn book(
    /** In euros. */
    amount: u32,
    #[state] counts: &Arc<Counts>,
) -> String {
    counts.book.work().await;
    format!("booked {amount}")
}

/// Get the position of the person.
#[tool(effect = read_only, external, output = Value)]
struct Locate {}

pub(crate) struct World {
    router: Router,
    pub(crate) is_sealed: bool,
    pub(crate) counts: Arc<Counts>,
    pub(crate) nonces: Arc<SlowNonces>,
    /// The messages of the model's last request.
    received: Arc<Mutex<String>>,
}

/// The response to a request.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Response {
    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.text);
        let frames = self.text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
        frames.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    pub(crate) fn event(&self, kind: &str) -> Value {
        let mut events = self.events().into_iter();
        events.find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}: {}", self.text))
    }
}

impl World {
    pub(crate) fn new(is_sealed: bool) -> Self {
        let (counts, received) = (Arc::<Counts>::default(), Arc::<Mutex<String>>::default());
        let state = State { counts: Arc::clone(&counts) };
        let (messages, nonces) = (Arc::clone(&received), Arc::<SlowNonces>::default());
        let model = FunctionModel::streaming(move |request| {
            *messages.lock().unwrap() = format!("{:?}", request.messages);
            play(&request)
        });
        let agent = Agent::new(model).tools(toolset!(state; pay, book, Locate)).store(SlowStore::default());
        let mut server = Server::new(agent).ag_ui(AgUi::new());
        if is_sealed {
            let keys = Keyring::new("test", Key::from_bytes([7; 32]));
            server = server.stateless(&keys, "test", Arc::clone(&nonces) as _);
        }
        Self { router: server.router(), is_sealed, counts, nonces, received }
    }

    pub(crate) fn received(&self) -> String {
        self.received.lock().unwrap().clone()
    }

    fn request(path: &str, body: &str) -> Request<Body> {
        let request =
            Request::post(path).header(header::HOST, "localhost").header(header::CONTENT_TYPE, "application/json");
        request.body(Body::from(body.to_owned())).unwrap()
    }

    /// Sends a request, and reads the whole response.
    pub(crate) async fn post(&self, path: &str, body: &str) -> Response {
        let response = self.router.clone().oneshot(Self::request(path, body)).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Response { status, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// Sends a request and loses its connection. Before, it polls the request and then its response, `polls` times altogether,
    /// and gives all other tasks `yields` turns after each poll. Returns `true` if the response ended before the loss.
    pub(crate) async fn send_and_lose(&self, path: &str, body: &str, polls: usize, yields: usize) -> bool {
        let mut request = Box::pin(self.router.clone().oneshot(Self::request(path, body)));
        let mut response = None;
        let mut is_over = false;
        for _ in 0..polls {
            match &mut response {
                None => {
                    response = poll_immediate(&mut request)
                        .await
                        .map(|response| response.unwrap().into_body().into_data_stream());
                }
                Some(response) => is_over = matches!(poll_immediate(response.next()).await, Some(None)),
            }
            if is_over {
                break;
            }
            for _ in 0..yields {
                yield_now().await;
            }
        }
        drop((request, response));
        self.settle().await;
        is_over
    }

    /// Waits until no task makes progress. No task here waits for time to pass.
    pub(crate) async fn settle(&self) {
        for _ in 0..ENOUGH_POLLS {
            yield_now().await;
        }
    }
}

/// Calls the tools that the user's last message names, and ends with a text after it has received their results.
fn play(request: &OwnedRequest) -> impl Stream<Item = Result<Delta, ModelError>> + Send + use<> {
    let mut deltas = vec![Delta::Text("Well.".to_owned())];
    let prompt = match request.messages.last() {
        Some(Message::User { content }) => content.iter().filter_map(Part::as_text).next_back().unwrap_or_default(),
        _ => "",
    };
    let names: Vec<&str> = prompt.split(' ').filter(|name| ["pay", "book", "Locate"].contains(name)).collect();
    for (index, name) in names.iter().enumerate() {
        let arguments = if *name == "Locate" { "{}" } else { r#"{"amount":5}"# };
        deltas.push(Delta::CallStart { index, id: format!("call_{index}"), name: (*name).to_owned() });
        deltas.push(Delta::CallArguments { index, text: arguments.to_owned() });
        deltas.push(Delta::CallEnd { index });
    }
    deltas.push(Delta::Finish(if names.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls }));
    stream::iter(deltas.into_iter().map(Ok))
}
