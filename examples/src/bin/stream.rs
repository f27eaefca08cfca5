//! A tool that returns a stream shows its output while it grows. The last item is the output.
//!
//! `cargo run -p examples --bin stream` prints:
//!
//! ```text
//! write_poem {"lines":3}
//!   Roses are red
//!   Roses are red / violets are blue
//!   Roses are red / violets are blue / crabs go sideways
//! A poem.
//! ```

use std::time::Duration;

use futures_util::stream::{self, Stream};
use tool_runtime::{
    Agent, AgentError,
    agent::{Event, Observer},
    model::{ScriptedModel, Turn},
    tool,
    tool::Progress,
    toolset,
};

/// Write a poem.
#[tool(effect = read_only)]
fn write_poem(
    /// The number of lines.
    #[arg(range(1..=3))]
    lines: usize,
) -> impl Stream<Item = String> {
    let poem = ["Roses are red", "violets are blue", "crabs go sideways"];
    stream::unfold(1, move |count| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        (count <= lines).then(|| (poem[..count].join(" / "), count + 1))
    })
}

/// Prints calls, outputs that are not final, and the answer.
struct Screen;

impl Observer for Screen {
    fn on_event(&self, event: Event<'_>) {
        match event {
            Event::CallStarted(call) => println!("{} {}", call.name, call.arguments().text),
            Event::CallProgress(Progress { preliminary: Some(output), .. }) => {
                println!("  {}", output.as_str().unwrap_or_default());
            }
            Event::Text(text) => println!("{text}"),
            _ => {}
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    let model = ScriptedModel::new([Turn::call("write_poem", r#"{"lines":3}"#), Turn::say("A poem.")]);
    Agent::new(model).tools(toolset!(write_poem)).observer(Screen).run("Write a poem.").await?;
    Ok(())
}
