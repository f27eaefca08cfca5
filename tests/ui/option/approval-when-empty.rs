use tool_runtime::tool;

/// Delete a file.
#[tool(approval = when())]
fn delete(path: String) -> String {
    path
}

fn main() {}
