use tool_runtime::tool;

/// Write a file.
#[tool(meta(team = files, cost = 1, cost = 2))]
fn write(path: String) -> String {
    path
}

fn main() {}
