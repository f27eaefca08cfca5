use tool_runtime::tool;

/// Roll a die.
#[tool(allow(undescribed))]
fn roll(#[arg(length(1..=6))] sides: u8) -> u8 {
    sides
}

fn main() {}
