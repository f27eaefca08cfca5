use tool_runtime::tool;

/// Roll a die.
#[tool(allow(undescribed))]
fn roll(#[arg(range(0..=300))] a: u8, #[arg(range(-1..))] b: Option<u8>, #[arg(range(0.5..))] c: u8) -> u8 {
    a + b.unwrap_or(c)
}

fn main() {}
