use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] #[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

fn seats(value: Option<u8>, _: BookSeats<'_>) -> Validation<u8> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
