use tool_runtime::{tool, toolset};

/// Search the shop.
#[tool(allow(undescribed))]
fn search(query: String) -> String {
    query
}

/// Look.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    query
}

fn main() {
    let _ = toolset!(search, look, search, look);
}
