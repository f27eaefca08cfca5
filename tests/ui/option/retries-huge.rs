use tool_runtime::tool;

/// Write a file.
#[tool(idempotent, retries = 5_000_000_000)]
fn write(path: String) -> String {
    path
}

fn main() {}
