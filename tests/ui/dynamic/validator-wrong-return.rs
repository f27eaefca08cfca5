use tool_runtime::tool;

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

fn seats(value: Option<u8>, _: BookSeats<'_>) -> bool {
    value.is_some()
}

fn main() {}
