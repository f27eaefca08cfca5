#![allow(deprecated)]

use std::cell::Cell;

use tool_runtime::{Verdict, tool, toolset};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: u8, #[state] free: &Cell<u8>) {
    free.set(seats);
}

async fn seats(value: Option<u8>, known: BookSeats<'_>) -> Verdict<u8> {
    std::future::ready(()).await;
    value.map_or(Verdict::accept(known.free.get()), Verdict::accept)
}

fn main() {
    toolset!(Cell::new(1_u8); book);
}
