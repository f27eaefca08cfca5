use tool_runtime::tool;

/// Roll a die.
#[tool]
fn roll(
    #[arg(length(-1..=6))] a: String,
    #[arg(length(0.5..))] b: String,
    #[arg(length(3))] c: String,
    #[arg(length(..0))] d: String,
) -> String {
    a + &b + &c + &d
}

fn main() {}
