use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

fn seats(value: Option<u16>, _: BookSeats<'_>) -> Validation<u8> {
    value.map_or(Validation::reject("missing"), |value| Validation::accept(value as u8))
}

fn main() {}
