use tool_runtime::tool;

/// Write a file.
#[tool(eager)]
fn write(path: String) -> String {
    path
}

fn main() {}
