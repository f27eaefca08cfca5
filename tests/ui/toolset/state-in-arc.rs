use std::sync::Arc;

use tool_runtime::{tool, toolset};

struct Shop;

/// Look.
#[tool]
fn look(#[state] shop: &Arc<Shop>) -> String {
    let _ = shop;
    String::new()
}

fn main() {
    let _ = toolset!(Arc::new(Shop); look);
}
