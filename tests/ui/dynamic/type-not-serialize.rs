#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: Seats) {
    drop(seats);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Seats(u8);

fn seats(value: Option<Seats>, _: BookSeats<'_>) -> Verdict<Seats> {
    value.map_or(Verdict::reject("missing"), Verdict::accept)
}

const _: fn(Seats) -> u8 = |seats| seats.0;

fn main() {}
