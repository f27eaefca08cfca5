use tool_runtime::tool;

/// Greet somebody.
#[tool]
fn greet(#[cfg(unix)] name: String) -> String {
    name
}

fn main() {}
