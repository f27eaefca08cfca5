use tool_runtime::tool;

/// Look something up.
#[tool(read_only)]
fn look(query: String) -> String {
    query
}

/// Delete something.
#[tool(destructive, always)]
fn delete(query: String) -> String {
    query
}

fn main() {}
