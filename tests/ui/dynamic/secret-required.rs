use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats, hints(key))] seats: u8, #[arg(secret)] key: String) -> String {
    format!("{seats} {key}")
}

fn seats(value: Option<u8>, _: BookSeats<'_>) -> Validation<u8> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
