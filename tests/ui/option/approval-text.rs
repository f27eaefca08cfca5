use tool_runtime::tool;

/// Delete a file.
#[tool(approval = "always")]
fn delete(path: String) -> String {
    path
}

fn main() {}
