//! The tools that these tests call: one of each kind.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tool_runtime::{
    Agent, Content, Context, Failure, Toolset, Validation,
    layer::Timeout,
    message::{Media, Part},
    model::{ScriptedModel, Turn},
    tool, toolset,
    toolset::{Permission, PolicyCall},
};

use crate::kit::Effects;

/// Works.
#[tool(effect = read_only)]
async fn double(#[state] effects: &Effects, number: i64) -> i64 {
    effects.record(format!("double {number}"));
    number * 2
}

/// Fails.
#[tool]
async fn fail(#[state] effects: &Effects, hidden: bool) -> Result<(), Failure> {
    effects.record("fail");
    Err(if hidden { Failure::hidden("the database is away") } else { Failure::new("out of paper") })
}

/// Fails, and is tried again.
#[tool(effect = read_only, retries = 2)]
async fn flaky(#[state] effects: &Effects) -> Result<(), Failure> {
    effects.record("flaky");
    Err(Failure::new("busy").retryable())
}

/// Panics.
#[tool]
async fn panics(#[state] effects: &Effects) {
    effects.record("panics");
    panic!("secret")
}

/// Never comes to an end.
#[tool(timeout = "30ms")]
async fn slow(#[state] effects: &Effects, #[context] cx: &Context) {
    effects.record(format!("slow {}", cx.time_left().is_some_and(|left| left <= Duration::from_millis(30))));
    std::future::pending::<()>().await;
}

/// Blocks its thread, and reports while it does.
#[tool(blocking, timeout = "5s")]
fn block(#[state] effects: &Effects, #[context] cx: &Context) -> String {
    cx.report_progress(1.0, None, "on a thread of its own");
    std::thread::sleep(Duration::from_millis(5));
    effects.record("block");
    "done".to_owned()
}

/// Draws.
#[tool]
fn draw() -> Content {
    Content(vec![Part::text("a dot"), Part::Image(Media::base64("image/png", "aGk="))])
}

/// Returns an output that looks like a refusal.
#[tool]
fn odd() -> Value {
    json!({ "ok": false })
}

/// Reports.
#[tool]
async fn report(#[context] cx: &Context) -> i64 {
    for done in [1.0, 2.0] {
        cx.report_progress(done, Some(2.0), "on");
        tokio::task::yield_now().await;
    }
    cx.show_preliminary(json!(1));
    2
}

/// Returns all that the context holds about its call.
#[tool]
async fn know(#[context] cx: &Context) -> String {
    let texts: Vec<String> = cx.messages().iter().map(|message| format!("{message:?}")).collect();
    let (principal, taint) = (cx.principal(), cx.taint());
    format!("{} {principal:?} {taint:?} {texts:?} {:?} {:?}", cx.call_id(), cx.get::<u8>(), cx.deadline())
}

/// Asks in the middle of its work.
#[tool(timeout = "10s")]
async fn ask(#[state] effects: &Effects, #[context] cx: &Context) -> Result<String, Failure> {
    effects.record("begin");
    cx.report_progress(1.0, None, "before");
    let kept: i64 = cx.step("count", async { Ok::<_, Failure>(7) }).await?;
    let (size, color) = tokio::join!(cx.ask::<i64>("Which size?"), cx.ask::<String>("Which color?"));
    cx.report_progress(2.0, None, "after");
    cx.request_approval("Really?").await?;
    Ok(format!("{kept} {} {}", size?, color?))
}

/// Signs.
#[tool(effect = write, approval = always)]
async fn sign() -> &'static str {
    "signed"
}

/// Calls an agent that signs, as a tool, in its own body.
#[tool]
async fn delegate(#[context] cx: &Context) -> Result<String, Failure> {
    let model = ScriptedModel::new([Turn::call("sign", json!({})), Turn::say("So be it.")]);
    let clerk = Agent::new(model).tools(toolset!(sign)).as_tool("clerk", "Signs.");
    let tools = Toolset::new().with(clerk)?;
    let output = tools.call("clerk", r#"{"task":"Sign."}"#, cx).await?;
    Ok(output.as_json().unwrap_or_default().to_owned())
}

/// Pays.
#[tool(effect = destructive, approval = always)]
async fn pay(#[state] effects: &Effects, amount: i64) -> i64 {
    effects.record(format!("pay {amount}"));
    amount
}

/// Pays. Only amounts above 10 need an approval.
#[tool(effect = write, approval = when(|tip| tip.amount > 10))]
async fn tip(#[state] effects: &Effects, amount: i64) -> i64 {
    effects.record(format!("tip {amount}"));
    amount
}

/// Confirms.
#[tool(external, output = bool)]
struct Confirm {
    what: String,
}

/// Books.
#[tool]
fn book(#[dynamic(validate = even)] seats: u64, #[state] effects: &Effects) -> u64 {
    effects.record(format!("book {seats}"));
    seats
}

fn even(value: Option<u64>, _: BookSeats<'_>) -> Validation<u64> {
    match value {
        Some(0) => Validation::accept(2),
        Some(seats) if seats % 2 == 0 => Validation::accept(seats),
        _ => Validation::reject("an even number").allowed([2, 4]),
    }
}

pub(super) fn tools(effects: &Arc<Effects>) -> Toolset {
    let state = Arc::clone(effects);
    let limited = toolset!(Arc::clone(&state); limited).layer(Timeout::new(Duration::from_millis(20)));
    let guarded = toolset!(state; guarded).policy(|call: &PolicyCall<'_>| match call.arguments {
        text if text.contains("13") => Permission::deny("not that"),
        text if text.contains("12") => Permission::Ask,
        _ => Permission::Allow,
    });
    let state = Arc::clone(effects);
    toolset!(
        state; double, fail, flaky, panics, slow, block, draw, odd, report, know, ask, delegate, pay, tip, Confirm, book
    )
    .merge(limited)
    .and_then(|tools| tools.merge(guarded))
    .expect("the names differ")
}

/// Never ends. The time limit of a layer ends its calls.
#[tool]
async fn limited(#[state] effects: &Effects) {
    effects.record("limited");
    std::future::pending::<()>().await;
}

/// Works under a policy of its toolset.
#[tool]
async fn guarded(#[state] effects: &Effects, number: i64) -> i64 {
    effects.record(format!("guarded {number}"));
    number
}

/// Effects that a tool can clone into its own tasks.
pub(super) struct SharedEffects(pub(super) Arc<Effects>);

/// A guard that records its drop.
struct Dropped(Arc<Effects>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.record("dropped");
    }
}

/// Waits forever. It records that it was cancelled, and that it was dropped.
#[tool]
pub(super) async fn hang(#[state] shared: &SharedEffects, #[context] cx: &Context) {
    let _dropped = Dropped(Arc::clone(&shared.0));
    let (effects, cancellation) = (Arc::clone(&shared.0), cx.cancellation().clone());
    tokio::spawn(async move {
        cancellation.cancelled().await;
        effects.record("cancelled");
    });
    shared.0.record("begins");
    std::future::pending::<()>().await;
}
