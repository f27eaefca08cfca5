use tool_runtime::tool;

/// Look something up.
#[tool]
async fn look(from: u8, #[arg(default = from + 1)] to: u8) -> u8 {
    from + to
}

/// Greet somebody.
#[tool]
fn greet(name: String, #[arg(default = "a|b".to_owned() + &name)] text: String) -> String {
    name + &text
}

fn main() {}
