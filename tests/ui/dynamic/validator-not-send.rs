#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

async fn seats(value: Option<u8>, _: BookSeats<'_>) -> Verdict<u8> {
    let shared = std::rc::Rc::new(value);
    std::future::ready(()).await;
    shared.map_or(Verdict::reject("missing"), Verdict::accept)
}

fn main() {}
