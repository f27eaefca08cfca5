use tool_runtime::tool;

/// Roll a die.
#[tool(allow(undescribed))]
fn roll(#[arg(default = "six")] sides: String) -> String {
    sides
}

fn main() {}
