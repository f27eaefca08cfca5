use tool_runtime::tool;

/// Book a flight.
#[tool(check = |_, _| Ok(()))]
fn book(seats: u8) -> u8 {
    seats
}

fn main() {}
