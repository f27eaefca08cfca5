//! A tool of every kind.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tool_runtime::{
    Agent, Content, Context, Failure, Toolset, Validation,
    layer::TimeLimit,
    message::Part,
    model::{ScriptedModel, Turn},
    tool, toolset,
    toolset::{Permission, Proposal},
};

use crate::kit::World;

/// Works.
#[tool(effect = read_only)]
async fn double(#[state] world: &World, number: i64) -> i64 {
    world.did(format!("double {number}"));
    number * 2
}

/// Fails.
#[tool]
async fn fail(#[state] world: &World, hidden: bool) -> Result<(), Failure> {
    world.did("fail");
    Err(if hidden { Failure::hidden("the database is away") } else { Failure::new("out of paper") })
}

/// Fails, and is tried again.
#[tool(effect = read_only, retries = 2)]
async fn flaky(#[state] world: &World) -> Result<(), Failure> {
    world.did("flaky");
    Err(Failure::new("busy").retryable())
}

/// Panics.
#[tool]
async fn panics(#[state] world: &World) {
    world.did("panics");
    panic!("secret")
}

/// Never comes to an end.
#[tool(timeout = "30ms")]
async fn slow(#[state] world: &World, #[context] cx: &Context) {
    world.did(format!("slow {}", cx.time_left().is_some_and(|left| left <= Duration::from_millis(30))));
    std::future::pending::<()>().await;
}

/// Blocks its thread, and reports while it does.
#[tool(blocking, timeout = "5s")]
fn block(#[state] world: &World, #[context] cx: &Context) -> String {
    cx.progress(1.0, None, "on a thread of its own");
    std::thread::sleep(Duration::from_millis(5));
    world.did("block");
    "done".to_owned()
}

/// Draws.
#[tool]
fn draw() -> Content {
    Content(vec![Part::text("a dot"), Part::Image { media_type: "image/png".to_owned(), data: "aGk=".to_owned() }])
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
        cx.progress(done, Some(2.0), "on");
        tokio::task::yield_now().await;
    }
    cx.preliminary(json!(1));
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
async fn ask(#[state] world: &World, #[context] cx: &Context) -> Result<String, Failure> {
    world.did("begin");
    cx.progress(1.0, None, "before");
    let kept: i64 = cx.step("count", async { Ok::<_, Failure>(7) }).await?;
    let (size, color) = tokio::join!(cx.ask::<i64>("Which size?"), cx.ask::<String>("Which color?"));
    cx.progress(2.0, None, "after");
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
async fn pay(#[state] world: &World, amount: i64) -> i64 {
    world.did(format!("pay {amount}"));
    amount
}

/// Pays. Only amounts above 10 need an approval.
#[tool(effect = write, approval = when(|tip| tip.amount > 10))]
async fn tip(#[state] world: &World, amount: i64) -> i64 {
    world.did(format!("tip {amount}"));
    amount
}

/// Confirms.
#[tool(external, output = bool)]
struct Confirm {
    what: String,
}

/// Books.
#[tool]
fn book(#[dynamic(validate = even)] seats: u64, #[state] world: &World) -> u64 {
    world.did(format!("book {seats}"));
    seats
}

fn even(value: Option<u64>, _: BookSeats<'_>) -> Validation<u64> {
    match value {
        Some(0) => Validation::accept(2),
        Some(seats) if seats % 2 == 0 => Validation::accept(seats),
        _ => Validation::reject("an even number").allowed([2, 4]),
    }
}

pub(super) fn tools(world: &Arc<World>) -> Toolset {
    let state = Arc::clone(world);
    let limited = toolset!(Arc::clone(&state); limited).layer(TimeLimit::new(Duration::from_millis(20)));
    let guarded = toolset!(state; guarded).guard(|call: &Proposal<'_>| match call.arguments {
        text if text.contains("13") => Permission::deny("not that"),
        text if text.contains("12") => Permission::Ask,
        _ => Permission::Allow,
    });
    let state = Arc::clone(world);
    toolset!(
        state; double, fail, flaky, panics, slow, block, draw, odd, report, know, ask, delegate, pay, tip, Confirm, book
    )
    .merge(limited)
    .and_then(|tools| tools.merge(guarded))
    .expect("each name once")
}

/// Never ends. The time limit of a layer ends its calls.
#[tool]
async fn limited(#[state] world: &World) {
    world.did("limited");
    std::future::pending::<()>().await;
}

/// Is guarded by a policy of its set.
#[tool]
async fn guarded(#[state] world: &World, number: i64) -> i64 {
    world.did(format!("guarded {number}"));
    number
}

pub(super) struct Place(pub(super) Arc<World>);

/// A guard that records its drop.
struct Dropped(Arc<World>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.did("dropped");
    }
}

/// Waits forever. It records that it was cancelled, and that it was dropped.
#[tool]
pub(super) async fn hang(#[state] place: &Place, #[context] cx: &Context) {
    let _dropped = Dropped(Arc::clone(&place.0));
    let (world, cancellation) = (Arc::clone(&place.0), cx.cancellation().clone());
    tokio::spawn(async move {
        cancellation.cancelled().await;
        world.did("cancelled");
    });
    std::future::pending::<()>().await;
}
