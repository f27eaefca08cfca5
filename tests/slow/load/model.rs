//! A model and tools for many streams. The user's text selects the behaviour.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{Stream, StreamExt, stream};
use serde_json::json;
use tokio::sync::{Barrier, Semaphore};
use tool_runtime::{
    Agent, Context, Message, Part, Provide, Toolset,
    model::{Delta, FinishReason, FunctionModel, ModelError, OwnedRequest},
    tool, toolset,
};

/// The number of bytes in an output of `flood` and `pour`.
pub(crate) const OUTPUT: usize = 4 * 1024;

/// The state that tests share with calls. It counts the calls, and holds them back.
pub(crate) struct SharedState {
    pub(crate) begun: AtomicUsize,
    pub(crate) ended: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
    /// Permits that `work` waits for.
    pub(crate) go: Semaphore,
    /// The barrier at which answers wait for each other.
    pub(crate) gather: Barrier,
}

impl SharedState {
    pub(crate) fn new(gather: usize) -> Arc<Self> {
        let (begun, ended, dropped) = Default::default();
        Arc::new(Self { begun, ended, dropped, go: Semaphore::new(0), gather: Barrier::new(gather) })
    }

    pub(crate) fn count(counter: &AtomicUsize) -> usize {
        counter.load(Ordering::SeqCst)
    }
}

/// Counts a call, and how it ends.
struct Watch<'a>(&'a SharedState, bool);

impl<'a> Watch<'a> {
    fn new(shared: &'a SharedState) -> Self {
        shared.begun.fetch_add(1, Ordering::SeqCst);
        Self(shared, false)
    }

    fn done(mut self) {
        self.1 = true;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let counter = if self.1 { &self.0.ended } else { &self.0.dropped };
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

/// Work until the test ends the work.
#[tool(effect = read_only)]
async fn work(#[state] shared: &Arc<SharedState>) -> String {
    let watch = Watch::new(shared);
    if let Ok(permit) = shared.go.acquire().await {
        permit.forget();
    }
    watch.done();
    "worked".to_owned()
}

/// Look a word up.
#[tool(effect = read_only)]
fn look(
    /// The word.
    word: String,
) -> String {
    format!("about {word}")
}

/// Report faster than a client reads.
#[tool(effect = read_only)]
async fn flood(
    /// The number of times.
    times: usize,
    #[state] shared: &Arc<SharedState>,
    #[context] cx: &Context,
) -> String {
    let watch = Watch::new(shared);
    for number in 0..times {
        cx.show_preliminary(json!({ "number": number, "text": "x".repeat(OUTPUT) }));
        tokio::task::yield_now().await;
    }
    watch.done();
    "flooded".to_owned()
}

/// Report as fast as the client reads.
#[tool(effect = read_only)]
fn pour(
    /// The number of times.
    times: usize,
    #[state] shared: &Arc<SharedState>,
) -> impl Stream<Item = String> + Send + use<> {
    let shared = Arc::clone(shared);
    stream::iter(0..times).map(move |number| {
        shared.ended.fetch_add(1, Ordering::SeqCst);
        format!("{number} {}", "x".repeat(OUTPUT))
    })
}

#[derive(Provide)]
struct State {
    shared: Arc<SharedState>,
}

pub(crate) fn agent(shared: &Arc<SharedState>) -> Agent {
    let gathering = Arc::clone(shared);
    let state = State { shared: Arc::clone(shared) };
    let tools: Toolset = toolset!(state; work, look, flood, pour);
    Agent::new(FunctionModel::streaming(move |asked| play(&asked, Arc::clone(&gathering)))).tools(tools)
}

/// Streams a word, then the requested call or a few words after the barrier, and a last word.
fn play(
    asked: &OwnedRequest,
    shared: Arc<SharedState>,
) -> impl Stream<Item = Result<Delta, ModelError>> + Send + use<> {
    let prompt = match asked.messages.last() {
        Some(Message::User { content }) => content.first().and_then(Part::as_text).unwrap_or_default(),
        _ => "",
    };
    let mut deltas = vec![Delta::Text("so ".to_owned())];
    let (name, arguments) = prompt.split_once(' ').unwrap_or((prompt, "{}"));
    let waits = name == "gather";
    if waits {
        deltas.extend((0..10).map(|number| Delta::Text(format!("word{number} "))));
    }
    let call = if waits { Some(("look", r#"{"word":"all"}"#)) } else { Some((name, arguments)) };
    match call.filter(|(name, _)| !name.is_empty()) {
        Some((name, arguments)) => {
            deltas.push(Delta::CallStart { index: 0, id: String::new(), name: name.to_owned() });
            deltas.push(Delta::CallArguments { index: 0, text: arguments.to_owned() });
            deltas.push(Delta::CallEnd { index: 0 });
            deltas.push(Delta::Finish(FinishReason::ToolCalls));
        }
        None => deltas.push(Delta::Finish(FinishReason::Stop)),
    }
    stream::iter(deltas.into_iter().enumerate()).then(move |(number, delta)| {
        let shared = Arc::clone(&shared);
        async move {
            if waits && number == 1 {
                shared.gather.wait().await;
            }
            if waits {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(delta)
        }
    })
}
