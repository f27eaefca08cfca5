#![allow(deprecated)]

use tool_runtime::tool;

/// Roll a die.
#[tool]
fn roll(#[arg(default = "six")] sides: String) -> String {
    sides
}

fn main() {}
