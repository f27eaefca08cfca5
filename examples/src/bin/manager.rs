//! A refund that another person than the page's user approves. The clerk's page says whom the call waits for, and the manager finds it
//! in a list.
//!
//! `cargo run -p examples --bin manager` prints what to type in another terminal:
//!
//! ```text
//! json='content-type: application/json'; at=http://127.0.0.1:3000/api
//! curl $at/chat -H 'authorization: Bearer clerk' -H "$json" -d '{"id": "c", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "Refund A102."}]}]}'
//! curl $at/waiting -H 'authorization: Bearer manager'
//! curl $at/waiting -H 'authorization: Bearer manager' -H "$json" -d '{"run": RUN, "id": ID, "decision": "approve"}'
//! curl $at/chat/c -H 'authorization: Bearer clerk'
//! curl $at/me -H 'authorization: Bearer manager'
//! ```
//!
//! The first response has `"deciders":["manager"]`. RUN and ID are those of the second. The fifth has the result.

use std::io::Write as _;

use serde_json::Value;
use tokio::net::TcpListener;
use tool_runtime::{
    Agent, ToolSpec,
    model::{ScriptedModel, Turn},
    run::Principal,
    tool, toolset,
};
use tool_server::{
    Authenticated, BearerToken, Server,
    axum::{Router, routing::get},
};

/// The clerk may decide up to this amount, in euros.
const LIMIT: u64 = 100;

/// Pay money back.
#[tool(effect = destructive, approval = always, challenge = "Pay {amount} euros back for {order}?")]
async fn refund(
    /** The order's number. */
    order: String,
    /** In euros. */
    #[arg(range(1..=500))]
    amount: u32,
) -> String {
    format!("{amount} euros were paid back for {order}")
}

/// Returns the principals that decide about a call. With none, the run's owner does.
fn deciders(_: &ToolSpec, arguments: &Value) -> Vec<Principal> {
    if arguments["amount"].as_u64() > Some(LIMIT) { vec!["manager".into()] } else { Vec::new() }
}

/// A route of the application. The server has checked its request, and knows the caller.
async fn me(Authenticated(caller): Authenticated) -> String {
    match caller.principal.as_str() {
        "manager" => "you decide about every refund\n".to_owned(),
        name => format!("{name} decides about refunds up to {LIMIT} euros\n"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt::init();
    // In place of a model.
    let turns = [Turn::call("refund", r#"{"order": "A102", "amount": 400}"#), Turn::say("The money is on its way.")];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(toolset!(refund)).deciders(deciders);
    let server = Server::new(agent)
        .authenticate(BearerToken::of([("clerk", "clerk"), ("manager", "manager")]))
        .merge_guarded(Router::new().route("/api/me", get(me)));
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let lines = include_str!("manager.rs").lines().filter_map(|line| line.strip_prefix("//! "));
    for command in lines.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```") {
        writeln!(std::io::stdout(), "{command}")?;
    }
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    server.serve(listener, stop).await?;
    Ok(())
}

#[cfg(test)]
tool_test_kit::toolset_tests!("manager", toolset!(refund));
