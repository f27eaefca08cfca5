use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: str) -> usize {
    query.len()
}

fn main() {}
