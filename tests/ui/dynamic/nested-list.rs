use std::collections::HashMap;

use tool_runtime::{DynamicInput, Validation, tool};

#[derive(DynamicInput)]
struct Leg {
    /// The city.
    #[dynamic(validate = from)]
    from: String,
}

fn from(value: Option<String>, _: LegFrom<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Book a flight.
#[tool]
fn book(
    #[dynamic(nested)] lists: Vec<Vec<Leg>>,
    #[dynamic(nested)] back: Option<Leg>,
    #[dynamic(nested)] legs: Option<Vec<Leg>>,
    #[dynamic(nested)] named: HashMap<String, Leg>,
) {
    drop((lists, back, legs, named));
}

/// Book a journey.
#[tool]
fn book_journey(
    #[dynamic(nested)]
    #[arg(default = vec![])]
    legs: Vec<Leg>,
    #[dynamic(nested)]
    #[arg(length(3..=1))]
    stops: Vec<Leg>,
    #[dynamic(nested)]
    #[arg(pattern = "a")]
    others: Vec<Leg>,
    #[dynamic(nested)]
    #[arg(length(..=3))]
    one: Leg,
) {
    drop((legs, stops, others, one));
}

fn main() {}
