use tool_runtime::tool;

/// Roll a die.
#[tool(allow(undescribed))]
fn roll(#[arg(pattern = "^[1-6]$")] sides: u8, #[arg(format = "email")] to: u8) -> u8 {
    sides + to
}

fn main() {}
