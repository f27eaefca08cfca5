use tool_runtime::tool;

/// Write a file.
#[tool(ui(icn = "file", icon = "file", icon = "pen", done))]
fn write(path: String) -> String {
    path
}

fn main() {}
