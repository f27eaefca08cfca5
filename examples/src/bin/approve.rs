//! A person decides about a dangerous call, and changes its arguments before it runs.
//!
//! `cargo run -p examples --bin approve` prints:
//!
//! ```text
//! the clerk is asked: Pay 40 euros back?
//! the tool pays 30 euros back
//! Done.
//! ```

use futures_util::future::{BoxFuture, ready};
use serde_json::json;
use tool_runtime::{
    Agent, AgentError,
    agent::{ApprovalRequest, Decision, Operator},
    model::{ScriptedModel, Turn},
    tool, toolset,
};

/// Pay money back.
#[tool(approval = when(|input| input.amount > 20), effect = destructive, challenge = "Pay {amount} euros back?")]
async fn refund(
    /// In euros.
    #[arg(range(1..=500))]
    amount: u32,
) -> String {
    println!("the tool pays {amount} euros back");
    format!("{amount} euros were paid back")
}

/// A clerk who pays back at most 30 euros. `tool_terminal::Terminal` asks a person instead.
struct Clerk;

impl Operator for Clerk {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        println!("the clerk is asked: {}", request.interrupt.shown.challenge.as_deref().unwrap_or("Allow it?"));
        let decision = match request.arguments["amount"].as_u64() {
            Some(amount) if amount > 30 => Decision::Edit { arguments: json!({ "amount": 30 }) },
            _ => Decision::Approve,
        };
        Box::pin(ready(decision))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    let model = ScriptedModel::new([Turn::call("refund", r#"{"amount": 40}"#), Turn::say("Done.")]);
    let agent = Agent::new(model).tools(toolset!(refund)).operator(Clerk);
    println!("{}", agent.run("Refund 40 euros.").await?.text);
    Ok(())
}
