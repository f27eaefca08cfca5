use tool_runtime::tool;

/// Delete a file.
#[tool(approval = alwys)]
fn delete(path: String) -> String {
    path
}

fn main() {}
