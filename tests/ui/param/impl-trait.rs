use tool_runtime::tool;

/// Greet somebody.
#[tool]
fn greet(name: impl ToString, others: Vec<impl ToString>) -> String {
    name.to_string() + &others[0].to_string()
}

fn main() {}
