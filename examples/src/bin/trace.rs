//! A run, and the spans that a tracing backend receives: two tools side by side, one of which calls another agent.
//!
//! `cargo run -p examples --bin trace`, or with message contents: `… --bin trace -- --content`. It needs no key and no
//! network. `tool_runtime::observability` shows how to send the same to OpenTelemetry.

use std::{io::Write as _, time::Duration};

use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Context, Failure,
    model::{ScriptedModel, Turn, Usage},
    test::Spans,
    tool, toolset,
};
use tool_terminal::Terminal;

/// Cook a dish.
#[tool(effect = write)]
async fn cook(
    /// The dish.
    dish: String,
    /// How long it takes, in minutes.
    #[arg(range(1..=240))]
    minutes: u32,
    #[context] cx: &Context,
) -> String {
    for minute in 0..minutes {
        cx.progress(f64::from(minute), Some(f64::from(minutes)), dish.as_str());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    format!("the {dish} is ready")
}

/// Ask the sommelier for a wine.
#[tool(effect = read_only, retries = 1)]
async fn choose_wine(
    /// The dish that it is drunk with.
    dish: String,
) -> Result<String, Failure> {
    let model = ScriptedModel::new([Turn::say("A Riesling.").with_usage(used(31, 4))]);
    let sommelier = Agent::new(model).name("sommelier").instructions("You know wines.");
    let reply = sommelier.run(format!("What goes with {dish}?")).await;
    Ok(reply.map_err(|error| Failure::new("the sommelier is busy").source(error))?.text)
}

fn used(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, ..Usage::default() }
}

/// A model's turns, made up.
fn turns() -> ScriptedModel {
    ScriptedModel::new([
        Turn::say("One moment.\n")
            .then_call("cook", json!({ "dish": "soup", "minutes": 40 }))
            .then_call("cook", json!({ "dish": "tart", "minutes": 70 }))
            .then_call("cook", json!({ "dish": "ragout", "minutes": 480 }))
            .then_call("choose_wine", json!({ "dish": "tart" }))
            .with_usage(used(212, 88)),
        Turn::say("Dinner is served: soup, and a tart with a Riesling.").with_usage(used(398, 14)),
    ])
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let spans = Spans::new();
    // A service would set a subscriber of `tracing-subscriber` here, with a layer of `tracing-opentelemetry`.
    let guard = tracing::subscriber::set_default(spans.clone());
    let agent = Agent::new(examples::model_or(turns()))
        .name("cook")
        .tools(toolset!(cook, choose_wine))
        .observer(Terminal::new())
        .trace_content(std::env::args().any(|argument| argument == "--content"));
    let done = agent.run("Make a soup and a tart, and serve a wine with it.").await;
    drop(guard);
    // Whoever reads may have seen enough.
    let _ = write!(std::io::stdout(), "\n\n{spans}");
    done.map(drop)
}
