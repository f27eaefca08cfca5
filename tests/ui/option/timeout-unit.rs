use tool_runtime::tool;

/// Write a file.
#[tool(timeout = "3 days")]
fn write(path: String) -> String {
    path
}

fn main() {}
