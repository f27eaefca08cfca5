use tool_runtime::{tool, toolset};

struct Shop;

/// Greet somebody.
#[tool]
fn greet(#[state] shop: Shop) -> String {
    let _ = shop;
    String::new()
}

fn main() {
    let _ = toolset!(Shop; greet);
}
