use tool_runtime::tool;

/// Write a file.
#[tool(ui)]
fn write(path: String) -> String {
    path
}

fn main() {}
