use tool_runtime::tool;

/// Roll a die.
#[tool]
fn roll(#[arg(range(6))] a: u8, #[arg(range(1, 6))] b: u8, #[arg(range(..))] c: u8, #[arg(range = 1..=6)] d: u8) -> u8 {
    a + b + c + d
}

fn main() {}
