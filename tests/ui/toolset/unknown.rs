use tool_runtime::{tool, toolset};

/// Look.
#[tool(allow(undescribed))]
fn look_up(query: String) -> String {
    query
}

fn main() {
    let _ = toolset!(look_up, lock_up);
}
