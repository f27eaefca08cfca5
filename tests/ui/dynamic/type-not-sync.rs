use std::cell::Cell;

use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: Cell<u8>) {
    drop(seats);
}

fn seats(value: Option<Cell<u8>>, _: BookSeats<'_>) -> Validation<Cell<u8>> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
