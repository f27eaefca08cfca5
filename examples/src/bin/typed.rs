//! An answer of a Rust type in place of text. The model receives the problems of a wrong answer, and tries again.
//!
//! `cargo run -p examples --bin typed` prints:
//!
//! ```text
//! Review { stars: 4, because: "it is warm" }
//! ```

use schemars::JsonSchema;
use serde::Deserialize;
use tool_runtime::{
    Agent, AgentError,
    model::{ScriptedModel, Turn},
};

/// A review of a coat.
#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only printed")]
struct Review {
    /// From 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    /// The reason in a few words.
    because: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    let model = ScriptedModel::new([
        Turn::call("final_answer", r#"{"stars": 9, "because": "it is warm"}"#), // rejected: 9 stars
        Turn::call("final_answer", r#"{"stars": 4, "because": "it is warm"}"#),
    ]);
    let answered = Agent::new(model).ask("How is this coat?").typed::<Review>().await?;
    println!("{:?}", answered.value);
    Ok(())
}
