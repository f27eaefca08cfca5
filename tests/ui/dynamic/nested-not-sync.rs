use std::cell::Cell;

use tool_runtime::{DynamicInput, Validation, tool, toolset};

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
struct Leg {
    #[dynamic(validate = from)]
    from: String,
    seat: Cell<u8>,
}

fn from(value: Option<String>, _: LegFrom<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

#[derive(DynamicInput)]
#[dynamic_input(state = Cell<u8>, allow(undescribed))]
struct Seat {
    row: u8,
}

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(nested)] leg: Leg, #[dynamic(nested)] legs: Vec<Leg>, #[dynamic(nested)] seat: Seat) {
    drop((leg, legs, seat));
}

fn main() {
    toolset!(book);
}
