use tool_runtime::tool;

/// Look something up.
#[tool(examples = [r#"{"quary": "a"}"#])]
fn look(query: String) -> String {
    query
}

fn main() {}
