use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: [u8]) -> usize {
    query.len()
}

fn main() {}
