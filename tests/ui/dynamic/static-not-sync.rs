#![allow(deprecated)]

use std::cell::Cell;

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: u8, class: Cell<u8>) {
    drop((seats, class));
}

async fn seats(value: Option<u8>, known: BookSeats<'_>) -> Verdict<u8> {
    std::future::ready(()).await;
    value.map_or(Verdict::accept(known.class.get()), Verdict::accept)
}

fn main() {}
