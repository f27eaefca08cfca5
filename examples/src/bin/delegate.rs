//! An agent as a tool of another. The inner agent's approvals come up as approvals of the outer call.
//!
//! `cargo run -p examples --bin delegate` prints:
//!
//! ```text
//! asked: write_note: Write the note "today"?
//! Noted, said the secretary.
//! ```

use futures_util::future::{BoxFuture, ready};
use tool_runtime::{
    Agent, Toolset,
    agent::{ApprovalRequest, Decision, Operator},
    model::{ScriptedModel, Turn},
    tool, toolset,
};

/// Write a note.
#[tool(approval = always, effect = write, challenge = "Write the note {name}?")]
async fn write_note(
    /// The note's name.
    name: String,
    /// The text.
    text: String,
) -> String {
    format!("{name}: {text}")
}

/// Approves everything, and prints it.
struct Boss;

impl Operator for Boss {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let question = request.interrupt.shown.challenge.as_deref().unwrap_or("Allow it?");
        println!("asked: {}: {question}", request.spec.name);
        Box::pin(ready(Decision::Approve))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let writing = Turn::call("write_note", r#"{"name": "today", "text": "Lunch"}"#);
    let secretary = Agent::new(ScriptedModel::new([writing, Turn::say("Noted.")])).tools(toolset!(write_note));

    let delegating = Turn::call("secretary", r#"{"task": "Remember lunch."}"#);
    let agent = Agent::new(ScriptedModel::new([delegating, Turn::say("Noted, said the secretary.")]))
        .tools(Toolset::new().with(secretary.as_tool("secretary", "Have a secretary do something."))?)
        .operator(Boss);
    println!("{}", agent.run("Remember lunch.").await?.text);
    Ok(())
}
