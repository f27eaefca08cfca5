use tool_runtime::tool;

/// Write a file.
#[tool(timeout = "0s")]
fn write(path: String) -> String {
    path
}

fn main() {}
