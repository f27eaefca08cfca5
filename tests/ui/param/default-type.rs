use tool_runtime::tool;

/// Roll a die.
#[tool(allow(undescribed))]
fn roll(#[arg(default = "six")] sides: u8) -> u8 {
    sides
}

fn main() {}
