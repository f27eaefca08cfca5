use tool_runtime::tool;

/// Roll a die.
#[tool]
fn roll(#[arg(range(6..=1))] a: u8, #[arg(range(3..3))] b: u8, #[arg(length(9..=1))] c: String) -> usize {
    usize::from(a + b) + c.len()
}

fn main() {}
