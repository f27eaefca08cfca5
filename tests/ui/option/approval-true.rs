use tool_runtime::tool;

/// Delete a file.
#[tool(approval = true)]
fn delete(path: String) -> String {
    path
}

fn main() {}
