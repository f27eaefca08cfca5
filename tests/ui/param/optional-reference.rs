use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: Option<&str>, names: Vec<&str>, path: &std::path::Path) {
    drop((query, names, path));
}

fn main() {}
