use tool_runtime::tool;

/// Write a file.
#[tool(migrate_from = "1", examples = [1])]
fn write(path: String) -> String {
    path
}

fn main() {}
