use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] #[context] seats: &tool_runtime::Context) {
    drop(seats);
}

fn seats(value: Option<u8>) -> Validation<u8> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
