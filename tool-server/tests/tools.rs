//! The tools of the tests' servers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_runtime::{
    Context, Failure, Provide, Toolset, tool,
    tool::{Question, QuestionAnswer},
    toolset,
};
use tool_server::protocol::ag_ui::Frontend;

/// Returns the tools of the server.
pub(crate) fn tools() -> Toolset {
    toolset!(fine, fails, panics, asks, asks_within, eager, grows, locate, share, draw, secret)
}

/// Returns a tool that works until it gets a permit, and a tool of the client.
pub(crate) fn working() -> (Toolset, Arc<Semaphore>) {
    let done = Arc::new(Semaphore::new(0));
    (toolset!(Working { done: Arc::clone(&done) }; work, locate), done)
}

/// Returns tools whose calls reach every state. `work` and `carefully` work until they get a permit.
pub(crate) fn every_state() -> (Toolset, Arc<Semaphore>) {
    let done = Arc::new(Semaphore::new(0));
    (toolset!(Working { done: Arc::clone(&done) }; work, carefully, asks, fails, locate, share, asks_within), done)
}

#[derive(Provide)]
struct Working {
    done: Arc<Semaphore>,
}

/// Work until there is a permit.
#[tool(effect = read_only)]
async fn work(#[state] done: &Arc<Semaphore>) -> &'static str {
    done.acquire().await.expect("it is never closed").forget();
    "worked"
}

/// Work after an approval, until there is a permit.
#[tool(approval = always)]
async fn carefully(#[state] done: &Arc<Semaphore>) -> &'static str {
    done.acquire().await.expect("it is never closed").forget();
    "worked carefully"
}

/// Returns a tool that removes things after an approval and counts them in `removed`, and a tool of the client.
pub(crate) fn removing(removed: &Arc<AtomicUsize>) -> Toolset {
    toolset!(Removing { removed: Arc::clone(removed) }; remove, locate)
}

#[derive(Provide)]
struct Removing {
    removed: Arc<AtomicUsize>,
}

/// Remove something.
#[tool(effect = destructive, approval = always)]
fn remove(
    /** The item. */
    what: String,
    #[state] removed: &Arc<AtomicUsize>,
) -> String {
    removed.fetch_add(1, Ordering::SeqCst);
    format!("removed {what}")
}

/// Do something.
#[tool(effect = read_only)]
fn fine(
    /** The item. */
    #[arg(default)]
    what: String,
) -> String {
    format!("did {what}")
}

/// Fail.
#[tool]
fn fails() -> Result<String, String> {
    Err("it does not work".to_owned())
}

/// Panic.
#[tool]
fn panics() -> String {
    panic!("a tool panics")
}

/// Ask before.
#[tool(effect = destructive, approval = always)]
fn asks(
    /** The item. */
    what: String,
) -> String {
    format!("removed {what}")
}

/// Ask while it works.
#[tool]
async fn asks_within(#[context] cx: &Context) -> Result<String, Failure> {
    let name: String = cx.ask("What is your name?").await?;
    cx.request_approval("Really?").await?;
    Ok(format!("hello {name}"))
}

/// Begin early.
#[tool(effect = read_only, eager)]
async fn eager(#[context] cx: &Context) -> Vec<u8> {
    cx.report_progress(1.0, Some(2.0), "half");
    cx.show_preliminary(json!([1]));
    vec![1, 2]
}

/// Show more and more.
#[tool(effect = read_only)]
async fn grows(#[context] cx: &Context) -> usize {
    let mut lines = Vec::new();
    for line in ["a", "b", "c", "d"] {
        lines.push(line.repeat(1_000));
        cx.show_preliminary(json!(lines));
        tokio::task::yield_now().await;
    }
    lines.len()
}

/// Get the position of the person.
#[tool(effect = read_only, external, output = Value)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct locate {}

/// Show the person's screen.
#[tool(external, output = Vec<String>, approval = always)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct share {
    /// The window's name.
    window: String,
}

/// Draw something that both sides see.
#[tool]
async fn draw(
    /** The item. */
    what: String,
    #[context] cx: &Context,
) -> Result<usize, Failure> {
    let frontend = Frontend::of(cx).ok_or_else(|| Failure::new("there is nobody to draw for"))?;
    frontend.custom("drawing", json!({ "what": what.as_str() }));
    let drawn = frontend.update(|state| {
        if !state["drawn"].is_array() {
            *state = json!({ "drawn": [] });
        }
        let list = state["drawn"].as_array_mut().expect("it was made one");
        list.push(what.into());
        list.len()
    });
    drawn.map_err(|error| Failure::new(error.to_string()))
}

/// Return text that no browser may see.
#[tool(effect = read_only)]
fn secret() -> String {
    "42 Main Street".to_owned()
}

/// Ask for a value that fits a schema, and return it in a list.
#[tool]
pub(crate) async fn ask_for(
    /** The schema. */
    schema: Value,
    #[context] cx: &Context,
) -> Result<Value, Failure> {
    match cx.ask_question(Question::ask("Which?", schema)).await? {
        QuestionAnswer::Given(value) => Ok(json!([value])),
        other => Err(Failure::new(format!("{other:?}"))),
    }
}
