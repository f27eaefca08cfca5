//! The main example: the desk of an airline. `cargo run` starts a chat with it; `cargo run -- replay FILE.jsonl` replays calls.

use std::env;
use std::io;
use std::sync::Arc;

use airline::{data::Desk, replay, tools};
use example_shared::model::model;
use tool_runtime::{Agent, agent::StopWhen, feedback::MODEL_INSTRUCTIONS};
use tool_terminal::Terminal;

const INSTRUCTIONS: &str = "You are the desk of a small airline. Today is 2026-12-01. Never invent flights, prices or rules: \
    the tools tell what there is, and what is possible.";

const GREETING: &str = "Welcome to the desk of Tool Air. Mia Olsen calls: find and book flights, change and cancel bookings.\n\
    For example: book a flight from London to Paris";

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => chat().await,
        ["replay", file] => replay::run(file).await,
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: airline | airline replay FILE.jsonl")),
    }
}

async fn chat() -> io::Result<()> {
    let instructions = format!("{INSTRUCTIONS}\n\n{MODEL_INSTRUCTIONS}");
    let agent = Agent::new(model())
        .tools(tools(Arc::new(Desk::open()?)))
        .instructions(instructions)
        // The customer on the line. The validators let the model see and change only what is hers.
        .principal("mia_olsen")
        // Small models repeat themselves.
        .stop_when(StopWhen::stuck(3));
    Terminal::new().chat(agent, GREETING).await
}
