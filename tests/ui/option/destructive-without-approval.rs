use tool_runtime::tool;

/// Delete a file.
#[tool(effect = destructive)]
fn delete(path: String) -> String {
    path
}

fn main() {}
