//! Tools whose calls reach every state. The tools that work wait for a permit.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent, Context, Failure, Message, Provide, Toolset,
    model::{FunctionModel, Request, Turn},
    tool, toolset,
};

#[derive(Clone, Provide)]
pub(crate) struct State {
    /// Permits for calls.
    pub(crate) done: Arc<Semaphore>,
    /// The number of approved calls that ran.
    pub(crate) ran: Arc<AtomicUsize>,
}

pub(crate) fn tools(state: &State) -> Toolset {
    let guide = Agent::new(FunctionModel::new(|request: Request<'_>| match request.messages.last() {
        Some(Message::Tool(_)) => Turn::say("it is found"),
        _ => Turn::call("find", "{}"),
    }));
    let guide = guide.tools(toolset!(find)).as_tool("guide", "Finds the way.");
    toolset!(state.clone(); work, halves, asks, carefully, fails, asks_within, locate, share).with(guide).unwrap()
}

async fn wait(done: &Semaphore) {
    done.acquire().await.expect("it is never closed").forget();
}

/// Work.
#[tool(effect = read_only)]
async fn work(#[state] done: &Arc<Semaphore>) -> &'static str {
    wait(done).await;
    "worked"
}

/// Work in two halves.
#[tool(effect = read_only)]
async fn halves(#[state] done: &Arc<Semaphore>, #[context] cx: &Context) -> Vec<&'static str> {
    cx.show_preliminary(json!(["half"]));
    wait(done).await;
    vec!["half", "half"]
}

/// Remove something.
#[tool(effect = destructive, approval = always)]
fn asks(
    /** The item. */
    what: String,
    #[state] ran: &Arc<AtomicUsize>,
) -> String {
    ran.fetch_add(1, Ordering::SeqCst);
    format!("removed {what}")
}

/// Remove something slowly.
#[tool(effect = destructive, approval = always)]
async fn carefully(
    /** The item. */
    what: String,
    #[state] ran: &Arc<AtomicUsize>,
    #[state] done: &Arc<Semaphore>,
) -> String {
    ran.fetch_add(1, Ordering::SeqCst);
    wait(done).await;
    format!("removed {what} carefully")
}

/// Fail.
#[tool]
fn fails() -> Result<String, String> {
    Err("it does not work".to_owned())
}

/// Ask twice while it works.
#[tool]
async fn asks_within(#[context] cx: &Context) -> Result<String, Failure> {
    let name: String = cx.ask("What is your name?").await?;
    cx.request_approval("Really?").await?;
    Ok(format!("hello {name}"))
}

/// Get the position of the person.
#[tool(effect = read_only, external, output = Value)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct locate {}

/// Show the person's screen.
#[tool(external, output = Value, approval = always)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct share {
    /// The window's name.
    window: String,
}

/// Find something that only the person can find.
#[tool(effect = read_only, external, output = Value)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct find {}
