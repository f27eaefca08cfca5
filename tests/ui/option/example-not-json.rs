use tool_runtime::tool;

/// Write a file.
#[tool(examples = [r#"{"path": "a"}"#, "{path: 'a'}", "3"])]
fn write(path: String) -> String {
    path
}

fn main() {}
