#![allow(deprecated)]

use tool_runtime::{DynamicInput, Verdict, tool};

#[derive(DynamicInput)]
struct Leg {
    #[dynamic(validate = from)]
    from: String,
}

fn from(value: Option<String>, _: LegFrom<'_>) -> Verdict<String> {
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

/// Book a flight.
#[tool]
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
