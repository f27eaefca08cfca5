use std::cell::Cell;

use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats, requires(class))] seats: u8, class: Cell<u8>) {
    drop((seats, class));
}

async fn seats(value: Option<u8>, known: BookSeats<'_>) -> Validation<u8> {
    std::future::ready(()).await;
    value.map_or(Validation::accept(known.class.get()), Validation::accept)
}

fn main() {}
