use tool_runtime::tool;

/// Write a file.
#[tool(idempotent, retries = -1)]
fn write(path: String) -> String {
    path
}

fn main() {}
