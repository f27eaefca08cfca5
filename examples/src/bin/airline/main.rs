//! The main example: an airline that books flights. `cargo run`, and talk with it.

mod desk;
mod schedule;

use tool_runtime::{Agent, Toolset, terminal::Terminal, toolset};

use desk::{BookFlight, Desk, cancel_booking, my_bookings, search_flights};

const INSTRUCTIONS: &str = "You are the desk of a small airline. Search before you book, and never invent flights.";

const GREETING: &str = "Welcome to Tool Air. You can search and book flights between Amsterdam, Berlin, Lisbon, London,\n\
    Oslo, Paris, Rome and Vienna, see your bookings and cancel them.\n\
    For example: search flights from Oslo to Rome on 2026-12-04";

fn tools() -> Toolset {
    toolset!(Desk::default(); search_flights, BookFlight, my_bookings, cancel_booking)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let agent = Agent::new(examples::model()).tools(tools()).instructions(INSTRUCTIONS);
    Terminal::new().chat(agent, GREETING).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoder_and_schema_accept_the_same() {
        tool_tests::agreement::check(&tools(), 2000);
    }
}
