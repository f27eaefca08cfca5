#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

fn seats(value: Option<u16>, _: BookSeats<'_>) -> Verdict<u8> {
    value.map_or(Verdict::reject("missing"), |value| Verdict::accept(value as u8))
}

fn main() {}
