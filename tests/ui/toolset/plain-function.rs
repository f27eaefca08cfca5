use tool_runtime::{tool, toolset};

fn search(query: String) -> String {
    query
}

/// Look.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    query
}

fn main() {
    search(String::new());
    let _ = toolset!(look, search);
}
