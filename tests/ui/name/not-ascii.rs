use tool_runtime::tool;

/// Get the size.
#[tool]
fn größe(file: String) -> String {
    file
}

fn main() {}
