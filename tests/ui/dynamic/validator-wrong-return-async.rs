use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

async fn seats(value: Option<u8>, _: BookSeats<'_>) -> Validation<u16> {
    value.map_or(Validation::reject("missing"), |value| Validation::accept(value.into()))
}

fn main() {}
