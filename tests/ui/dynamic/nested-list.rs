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
fn book(#[dynamic(nested)] legs: Vec<Leg>, #[dynamic(nested)] back: Option<Leg>) {
    drop((legs, back));
}

fn main() {}
