use tool_runtime::tool;

/// Book a flight.
#[tool(check = whole, allow(undescribed))]
fn book(seats: u8) -> u8 {
    seats
}

fn whole(input: u8, _: BookCheck<'_>) -> Result<(), tool_runtime::Rejection> {
    drop(input);
    Ok(())
}

fn main() {}
