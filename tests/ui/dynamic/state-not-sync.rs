use std::cell::Cell;

use tool_runtime::{Validation, tool, toolset};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: u8, #[state] free: &Cell<u8>) {
    free.set(seats);
}

async fn seats(value: Option<u8>, known: BookSeats<'_>) -> Validation<u8> {
    std::future::ready(()).await;
    value.map_or(Validation::accept(known.free.get()), Validation::accept)
}

fn main() {
    toolset!(Cell::new(1_u8); book);
}
