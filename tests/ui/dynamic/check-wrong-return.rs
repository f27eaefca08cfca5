use tool_runtime::tool;

/// Book a flight.
#[tool(check = whole, allow(undescribed))]
fn book(seats: u8) -> u8 {
    seats
}

async fn whole(input: &book, _: BookCheck<'_>) -> bool {
    input.seats > 0
}

fn main() {}
