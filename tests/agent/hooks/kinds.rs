//! Tests of hooks of all kinds of tools and of agents, of failing hooks, and of an observer's view.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool_runtime::{
    Context, Execute, Failure,
    agent::{ApprovalRequest, Decision, Event, Observer, Operator, PartialArguments},
    json::IncrementalJson,
    model::{Delta, FinishReason, ScriptedModel, Turn},
    tool,
    tool::{InputHooks, PartialInput},
    tools, toolset,
    toolset::RuntimeTool,
};
use tool_schema::json::ValueChange;

use super::{Recording, end, piece, record_hooks, start};
use crate::run_loop::watched;

/// A flight, booked by a client.
#[tool(external, output = bool, on_input_available = booked)]
struct Book {
    /// The destination.
    to: String,
}

fn booked(input: &Book, cx: &Context) {
    Recording::of(cx).record(format!("booked {}", input.to));
}

/// Chooses to go or to stay.
#[derive(Deserialize, JsonSchema)]
#[tool(on_input_delta = chosen, on_input_available = choice)]
enum Choose {
    /// To go.
    Go {
        /// The destination.
        to: String,
    },
    /// To stay.
    Stay,
}

impl Execute for Choose {
    type Output = bool;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<bool, Failure> {
        Ok(matches!(self, Self::Go { .. }))
    }
}

fn chosen(input: PartialInput<'_, Choose>, _: &str, cx: &Context) {
    Recording::of(cx).record(format!("{:?}", input.get::<&str>("kind")));
}

fn choice(input: &Choose, cx: &Context) {
    let to = match input {
        Choose::Go { to } => to.as_str(),
        Choose::Stay => "",
    };
    Recording::of(cx).record(format!("choice {to:?}"));
}

struct Desk;

#[tools]
impl Desk {
    /// Rings.
    #[tool(on_input_start = Self::rings, on_input_available = Self::rang)]
    fn ring(
        &self,
        /// The number of times.
        times: u8,
    ) -> u8 {
        times
    }

    fn rings(cx: &Context) {
        Recording::of(cx).record("rings");
    }

    fn rang(input: &DeskRing, cx: &Context) {
        Recording::of(cx).record(format!("rang {}", input.times));
    }
}

/// Input hooks that record every call.
struct All;

impl InputHooks for All {
    fn start<'a>(&'a self, tool: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        Recording::of(cx).record(format!("start {tool}"));
        Box::pin(std::future::ready(()))
    }

    fn delta<'a>(
        &'a self,
        tool: &'a str,
        input: &'a IncrementalJson,
        _: &'a str,
        cx: &'a Context,
    ) -> BoxFuture<'a, ()> {
        Recording::of(cx).record(format!("delta {tool} {}", input.value().unwrap()));
        Box::pin(std::future::ready(()))
    }

    fn available<'a>(&'a self, tool: &'a str, arguments: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            Recording::of(cx).record(format!("available {tool} {arguments}"));
            tokio::time::sleep(Duration::from_mins(1)).await;
        })
    }
}

/// An operator who edits every call before it runs, and an observer of the arguments.
#[derive(Default)]
struct EditingWatcher(Mutex<Vec<String>>);

impl Observer for EditingWatcher {
    fn on_event(&self, event: Event<'_>) {
        let Event::CallArguments { so_far, .. } = event else { return };
        let mut lines = self.0.lock().unwrap();
        so_far.for_each_change(&mut |path, change| {
            if let ValueChange::Set(value) = change {
                lines.push(format!("{path} = {value}"));
            }
        });
        lines.push(PartialArguments::look(so_far, |json| json.value().unwrap().to_string()));
    }
}

impl Operator for EditingWatcher {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(async { Decision::Edit { arguments: json!({"to": "Ben"}) } })
    }

    fn execute<'a>(&'a self, _: &'a tool_runtime::agent::ExternalCall) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { Some("true".to_owned()) })
    }
}

#[tokio::test]
async fn tools_of_every_kind_have_hooks_and_so_has_the_agent() {
    let shout = RuntimeTool::new("shout", "Shouts.").hooks(All).handler(|_, _| async { Ok(json!(1)) });
    let tools = toolset!(Book, Choose).merge(Desk.toolset()).unwrap().with(shout.unwrap()).unwrap();
    let turn = Turn::call("Book", r#"{"to":"Rome"}"#)
        .then_call("Choose", r#"{"kind":"go","to":"Oslo"}"#)
        .then_call("ring", r#"{"times":3}"#)
        .then_call("shout", r#"{"a":1}"#);
    let recorded = Recording::default();
    let agent = watched(ScriptedModel::new([turn.clone(), Turn::say("ok")]))
        .tools(tools.clone())
        .observer(EditingWatcher::default())
        .operator(EditingWatcher::default())
        .context(Context::new("").with(recorded.clone()));
    agent.run("go").await.unwrap();
    let of_tools = [
        r#"Some("go")"#,
        "rings",
        "start shout",
        r#"delta shout {"a":1}"#,
        "booked Rome",
        "rang 3",
        r#"available shout {"a":1}"#,
        // The other calls are accepted first, because the fields of a variant take longer to validate.
        r#"choice "Oslo""#,
    ];
    assert_eq!(recorded.all(), of_tools);

    let recorded = Recording::default();
    let hide = tools.filter(|spec| spec.name == "ring");
    let agent = watched(ScriptedModel::new([turn, Turn::say("ok")]))
        .tools(hide)
        .input_hooks(All)
        .context(Context::new("").with(recorded.clone()));
    agent.run("go").await.unwrap();
    let of_agent = ["rings", "start ring", r#"delta ring {"times":3}"#, "rang 3", r#"available ring {"times":3}"#];
    assert_eq!(recorded.all(), of_agent);
}

/// Has hooks that panic. After the first panic, `on_input_delta` is not called.
#[tool(on_input_start = breaks, on_input_delta = never, on_input_available = breaks_again)]
fn broken(
    /// Anything.
    n: u8,
) -> u8 {
    n
}

fn breaks(cx: &Context) {
    Recording::of(cx).record("breaks");
    panic!("a hook broke");
}

fn never(_: PartialInput<'_, broken>, _: &str, cx: &Context) {
    Recording::of(cx).record("never");
}

#[allow(clippy::unused_async, reason = "a hook may be async")]
async fn breaks_again(_: &broken, cx: &Context) {
    Recording::of(cx).record("breaks again");
    panic!("a hook broke");
}

#[tokio::test]
async fn a_panic_of_a_hook_does_not_fail_the_call() {
    let deltas = vec![start(0, "a", "broken"), piece(0, r#"{"n":"#), piece(0, "1}"), end(0)];
    assert_eq!(record_hooks(toolset!(broken), deltas).await, ["breaks", "breaks again"]);
}

/// Has a hook that never returns.
#[tool(on_input_start = hangs)]
fn patient() -> u8 {
    1
}

async fn hangs(cx: &Context) {
    Recording::of(cx).record("hangs");
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_is_dropped_after_ten_seconds() {
    let before = tokio::time::Instant::now();
    assert_eq!(record_hooks(toolset!(patient), vec![start(0, "a", "patient"), end(0)]).await, ["hangs"]);
    assert_eq!(before.elapsed().as_secs(), 10);
}

/// Pays.
#[tool(approval = always, on_input_available = pays)]
fn pay(
    /// The recipient.
    to: String,
    #[context] cx: &Context,
) -> usize {
    Recording::of(cx).record(format!("paid {to}"));
    to.len()
}

fn pays(input: &pay, cx: &Context) {
    Recording::of(cx).record(format!("pays {}", input.to));
}

#[tokio::test]
async fn edited_arguments_call_on_input_available_again() {
    let recorded = Recording::default();
    let watcher = Arc::new(EditingWatcher::default());
    let pieces = vec![start(0, "a", "pay"), piece(0, r#"{"to":"An"#), piece(0, r#"na"}"#), end(0)];
    let pieces: Vec<_> = pieces.into_iter().chain([Delta::Finish(FinishReason::ToolCalls)]).collect();
    let agent = watched(ScriptedModel::new([pieces]).then(Turn::say("ok")))
        .tools(toolset!(pay))
        .observer(Arc::clone(&watcher))
        .operator(Arc::clone(&watcher))
        .context(Context::new("").with(recorded.clone()));
    agent.run("go").await.unwrap();
    assert_eq!(recorded.all(), ["pays Anna", "pays Ben", "paid Ben"]);
    let lines = watcher.0.lock().unwrap().clone();
    let expected = [" = {}", r#"/to = "An""#, r#"{"to":"An"}"#, r#"{"to":"Anna"}"#];
    assert_eq!(lines, expected);
}
