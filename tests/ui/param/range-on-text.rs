use tool_runtime::tool;

/// Roll a die.
#[tool(allow(undescribed))]
fn roll(#[arg(range(1..=6))] sides: String) -> String {
    sides
}

fn main() {}
