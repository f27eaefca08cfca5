use tool_runtime::tool;

/// Look something up.
#[tool(examples = "{\"query\": \"a\"}")]
fn look(query: String) -> String {
    query
}

/// Look something up.
#[tool(examples = [{"query": "a"}])]
fn look_again(query: String) -> String {
    query
}

fn main() {}
