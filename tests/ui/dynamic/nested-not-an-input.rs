#![allow(deprecated)]

use tool_runtime::{DynamicInput, Verdict, tool, toolset};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Plain {
    from: String,
}

#[derive(DynamicInput)]
struct Leg {
    #[dynamic(validate = from)]
    from: String,
    #[dynamic(nested)]
    plain: Plain,
}

fn from(value: Option<String>, _: LegFrom<'_>) -> Verdict<String> {
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

/// Book a flight.
#[tool]
fn book(#[dynamic(nested)] plain: Plain, #[dynamic(nested)] leg: Leg) {
    drop((plain, leg));
}

fn main() {
    toolset!(book);
}
