use tool_runtime::tool;

/// Write a file.
#[tool(touches)]
fn write(path: String) {
    drop(path);
}

fn main() {}
