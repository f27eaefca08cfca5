#![allow(deprecated)]

use tool_runtime::{DynamicInput, Verdict, tool, toolset};

struct Flights;

#[derive(DynamicInput)]
#[dynamic_input(state = Flights)]
struct Leg {
    #[dynamic(validate = from)]
    from: String,
}

fn from(value: Option<String>, known: LegFrom<'_>) -> Verdict<String> {
    let Flights = known.state();
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

/// Book a flight.
#[tool]
fn book(#[dynamic(nested)] leg: Leg) {
    drop(leg);
}

fn main() {
    toolset!("something else"; book);
}
