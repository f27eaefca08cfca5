use tool_runtime::tool;

// Look something up.
#[tool]
fn look(query: String) -> String {
    query
}

/// 
#[tool]
fn count() {}

fn main() {}
