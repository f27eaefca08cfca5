use tool_runtime::tool;

/// Look something up.
#[tool(name("search"), approval(always), effect(read_only), timeout("3s"))]
fn look(query: String) -> String {
    query
}

fn main() {}
