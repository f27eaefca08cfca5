use tool_runtime::tool;

/// Roll a die.
#[tool]
fn roll(#[arg(example = 7, range(1..=6))] sides: u8, #[arg(example = String::from("a"))] name: String) -> String {
    format!("{sides}{name}")
}

fn main() {}
