//! The spans of a run, as a tracing backend receives them. `tool_runtime::observability` shows how to send them to OpenTelemetry.
//!
//! `cargo run -p examples --bin trace [-- --content]` prints the conversation, and this tree with times and attributes:
//! ```text
//! └─ invoke_agent cook
//!    ├─ chat scripted
//!    ├─ execute_tool cook
//!    ├─ execute_tool cook
//!    ├─ execute_tool choose_wine
//!    │  └─ invoke_agent sommelier
//!    │     └─ chat scripted
//!    └─ chat scripted
//! ```

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
    /// The time in minutes.
    #[arg(range(1..=240))]
    minutes: u32,
    #[context] cx: &Context,
) -> String {
    for minute in 0..minutes {
        cx.report_progress(f64::from(minute), Some(f64::from(minutes)), dish.as_str());
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
    Ok(sommelier.run(format!("What goes with {dish}?")).await?.text)
}

fn used(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, ..Usage::default() }
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let turns = ScriptedModel::new([
        Turn::say("One moment.\n")
            .then_call("cook", json!({ "dish": "soup", "minutes": 40 }))
            .then_call("cook", json!({ "dish": "tart", "minutes": 70 }))
            .then_call("cook", json!({ "dish": "ragout", "minutes": 480 }))
            .then_call("choose_wine", json!({ "dish": "tart" }))
            .with_usage(used(212, 88)),
        Turn::say("Dinner is served: soup, and a tart with a Riesling.").with_usage(used(398, 14)),
    ]);
    let spans = Spans::new();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let done = Agent::new(examples::model_or(turns))
        .name("cook")
        .tools(toolset!(cook, choose_wine))
        .observer(Terminal::new())
        .trace_content(std::env::args().any(|argument| argument == "--content"))
        .run("Make a soup and a tart, and serve a wine with it.")
        .await;
    let _ = write!(std::io::stdout(), "\n\n{spans}"); // the reader may have left
    done.map(drop)
}
