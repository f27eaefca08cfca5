//! Tools that no other code names.

use tool_runtime::tool;

/// Roars.
#[tool]
fn roar() -> &'static str {
    "roar"
}

/// Ask the person to confirm.
#[tool(external, name = "confirm", output = bool)]
struct Confirm {}
