//! Tools without any reference to them.

use tool_runtime::tool;

/// Roars.
#[tool]
fn roar() -> &'static str {
    "roar"
}

/// Ask the person to confirm.
#[tool(external, name = "confirm", output = bool)]
struct Confirm {}
