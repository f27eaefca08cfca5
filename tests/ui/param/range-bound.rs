use tool_runtime::tool;

const SIDES: u8 = 6;

/// Roll a die.
#[tool]
fn roll(#[arg(range(1..=SIDES))] sides: u8) -> u8 {
    sides
}

fn main() {}
