#![allow(deprecated)]

use std::cell::Cell;

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: Cell<u8>) {
    drop(seats);
}

fn seats(value: Option<Cell<u8>>, _: BookSeats<'_>) -> Verdict<Cell<u8>> {
    value.map_or(Verdict::reject("missing"), Verdict::accept)
}

fn main() {}
