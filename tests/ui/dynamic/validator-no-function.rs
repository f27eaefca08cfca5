use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = SEATS)] seats: u8) {
    drop(seats);
}

const SEATS: u8 = 3;

const _: fn(Validation<u8>) = drop;

fn main() {}
