use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::tool;

#[derive(Serialize, Deserialize, JsonSchema)]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// Get the temperature.
#[tool(allow(undescribed))]
fn temperature(#[arg(default)] unit: Unit) -> Unit {
    unit
}

fn main() {}
