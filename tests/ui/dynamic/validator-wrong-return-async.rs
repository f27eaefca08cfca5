#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

async fn seats(value: Option<u8>, _: BookSeats<'_>) -> Verdict<u16> {
    value.map_or(Verdict::reject("missing"), |value| Verdict::accept(value.into()))
}

fn main() {}
