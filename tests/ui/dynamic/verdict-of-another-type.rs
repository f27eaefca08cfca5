#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: u8) -> u8 {
    seats
}

fn seats(value: Option<u8>, _: BookSeats<'_>) -> Verdict<u8> {
    match value {
        Some(seats) => seats,
        None => Verdict::reject("missing"),
    }
}

fn main() {}
