use tool_runtime::{tool, toolset};

struct Shop;

/// Look.
#[tool]
fn look(#[state] shop: &Shop) -> String {
    let _ = shop;
    String::new()
}

fn main() {
    let _ = toolset!(state = Shop; look);
}
