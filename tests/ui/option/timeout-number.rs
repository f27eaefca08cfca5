use tool_runtime::tool;

/// Write a file.
#[tool(timeout = 30)]
fn write(path: String) -> String {
    path
}

fn main() {}
