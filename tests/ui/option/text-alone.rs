use tool_runtime::tool;

#[tool("Look something up.")]
fn look(query: String) -> String {
    query
}

fn main() {}
