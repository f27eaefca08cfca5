use tool_runtime::{DynamicInput, Validation, tool};

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
struct Leg {
    #[dynamic(validate = from)]
    from: String,
}

fn from(value: Option<String>, _: LegFrom<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Book a flight.
#[tool(allow(undescribed))]
fn book(
    #[dynamic(nested, validate = leg)] a: Leg,
    #[dynamic(nested, hints(a))] b: Leg,
    #[dynamic(nested)]
    #[arg(default)]
    c: Leg,
    #[dynamic(nested = true)] d: Leg,
) {
    drop((a, b, c, d));
}

fn main() {}
