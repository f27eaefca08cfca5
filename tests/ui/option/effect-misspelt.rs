use tool_runtime::tool;

/// Delete a file.
#[tool(effect = readonly)]
fn look(path: String) -> String {
    path
}

fn main() {}
