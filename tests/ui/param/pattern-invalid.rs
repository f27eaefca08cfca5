use tool_runtime::tool;

/// Roll a die.
#[tool]
fn roll(#[arg(pattern = "^[a-z+$")] a: String, #[arg(pattern = r"(?=look)")] b: String) -> String {
    a + &b
}

fn main() {}
