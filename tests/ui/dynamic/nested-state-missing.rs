use tool_runtime::{DynamicInput, Validation, tool, toolset};

struct Flights;

#[derive(DynamicInput)]
#[dynamic_input(state = Flights, allow(undescribed))]
struct Leg {
    #[dynamic(validate = from)]
    from: String,
}

fn from(value: Option<String>, known: LegFrom<'_>) -> Validation<String> {
    let Flights = known.state();
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(nested)] leg: Leg) {
    drop(leg);
}

fn main() {
    toolset!("something else"; book);
}
