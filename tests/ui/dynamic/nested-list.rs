use tool_runtime::{DynamicInput, Verdict, tool};

#[derive(DynamicInput)]
struct Leg {
    /// The city.
    #[dynamic(validate = from)]
    from: String,
}

fn from(value: Option<String>, _: LegFrom<'_>) -> Verdict<String> {
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

/// Book a flight.
#[tool]
fn book(#[dynamic(nested)] legs: Vec<Leg>, #[dynamic(nested)] back: Option<Leg>) {
    drop((legs, back));
}

fn main() {}
