use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: u8) -> u8 {
    seats
}

fn seats(value: Option<u8>, _: BookSeats<'_>) -> Validation<u8> {
    match value {
        Some(seats) => seats,
        None => Validation::reject("missing"),
    }
}

fn main() {}
