use tool_runtime::{tool, toolset};

struct Search;

/// Look.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    query
}

fn main() {
    let _ = toolset!(look, Search, Search);
}
