use tool_runtime::tool;

/// Greet somebody.
#[tool]
fn greet(#[arg(secret, length(1..=20), default = "a".into())] key: String) -> String {
    key
}

fn main() {}
