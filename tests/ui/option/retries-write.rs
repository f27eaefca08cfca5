use tool_runtime::tool;

/// Write a file.
#[tool(retries = 2)]
fn write(path: String) -> String {
    path
}

fn main() {}
