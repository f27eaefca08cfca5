use tool_runtime::{tool, toolset};

struct Shop;

/// Look around.
#[tool]
fn look(#[state] _shop: &Shop) -> u8 {
    3
}

fn main() {
    let shop = Shop;
    let _ = toolset!(shop, look);
}
