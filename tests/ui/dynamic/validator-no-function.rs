#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = SEATS)] seats: u8) {
    drop(seats);
}

const SEATS: u8 = 3;

const _: fn(Verdict<u8>) = drop;

fn main() {}
