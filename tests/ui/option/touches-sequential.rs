use tool_runtime::tool;

/// Write a file.
#[tool(sequential, touches = |input| tool_runtime::tool::TouchedResources::new().writes(&input.path))]
fn write(path: String) {
    drop(path);
}

fn main() {}
