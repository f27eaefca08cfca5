//! The main example: an airline that books flights. `cargo run` starts a chat with its desk.

mod book;
mod desk;
mod schedule;

use example_shared::model::model;
use tool_runtime::{Agent, Toolset, agent::StopWhen, feedback::MODEL_INSTRUCTIONS, lint_test, toolset};
use tool_terminal::Terminal;

use book::BookFlight;
use desk::{Desk, cancel_booking, my_bookings};

const INSTRUCTIONS: &str =
    "You are the desk of a small airline. Never invent flights: `book_flight` tells what there is.";

const GREETING: &str = "Welcome to Tool Air. You can book flights, see your bookings and cancel them.\n\
    For example: book a flight from London for 2 people";

fn tools() -> Toolset {
    toolset!(Desk::default(); BookFlight, my_bookings, cancel_booking)
}

lint_test!(tools());

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let instructions = format!("{INSTRUCTIONS}\n\n{MODEL_INSTRUCTIONS}");
    let agent = Agent::new(model())
        .tools(tools())
        .instructions(instructions)
        // Small models repeat themselves.
        .stop_when(StopWhen::stuck(3));
    Terminal::new().chat(agent, GREETING).await
}

#[cfg(test)]
tool_test_kit::toolset_tests!("airline", tools());
