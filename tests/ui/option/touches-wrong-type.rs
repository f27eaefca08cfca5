use tool_runtime::tool;

/// Write a file.
#[tool(touches = path, allow(undescribed))]
fn write(path: String) {
    drop(path);
}

fn path(input: &write) -> String {
    input.path.clone()
}

fn main() {}
