use tool_runtime::tool;

/// Look something up.
#[tool(version = "2", migrate_from = ["1", "2"])]
fn look(query: String) -> String {
    query
}

fn main() {}
