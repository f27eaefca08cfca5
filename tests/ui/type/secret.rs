use tool_runtime::tool;

struct Key;

/// Pay somebody.
#[tool]
fn pay(#[arg(secret)] key: Key) -> String {
    let _ = key;
    String::new()
}

fn main() {}
