#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

fn seats(value: Option<u8>) -> Verdict<u8> {
    value.map_or(Verdict::reject("missing"), Verdict::accept)
}

fn main() {}
