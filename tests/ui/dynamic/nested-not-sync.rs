#![allow(deprecated)]

use std::cell::Cell;

use tool_runtime::{DynamicInput, Verdict, tool, toolset};

#[derive(DynamicInput)]
struct Leg {
    #[dynamic(validate = from)]
    from: String,
    seat: Cell<u8>,
}

fn from(value: Option<String>, _: LegFrom<'_>) -> Verdict<String> {
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

#[derive(DynamicInput)]
#[dynamic_input(state = Cell<u8>)]
struct Seat {
    row: u8,
}

/// Book a flight.
#[tool]
fn book(#[dynamic(nested)] leg: Leg, #[dynamic(nested)] seat: Seat) {
    drop((leg, seat));
}

fn main() {
    toolset!(book);
}
