use tool_runtime::{ToolOutput, tool};

#[derive(serde::Serialize, schemars::JsonSchema, ToolOutput)]
struct Booked {
    ok: bool,
    #[serde(rename = "problems")]
    notes: Vec<String>,
}

/// Book a flight.
#[tool]
fn book() -> Booked {
    Booked { ok: true, notes: Vec::new() }
}

fn main() {}
