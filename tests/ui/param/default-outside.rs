use tool_runtime::tool;

/// Roll a die.
#[tool]
fn roll(#[arg(default = 7, range(1..=6))] sides: u8, #[arg(default = "".to_owned(), length(1..))] name: String) -> String {
    format!("{sides}{name}")
}

fn main() {}
