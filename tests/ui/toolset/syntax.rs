use tool_runtime::{tool, toolset};

/// Look.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    query
}

fn main() {
    let _ = toolset!(look, "search");
    let _ = toolset!(1; look; look);
    let _ = toolset!(look look);
}
