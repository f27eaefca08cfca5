use tool_runtime::tool;

/// Look something up.
#[tool(eager, effect = read_only, approval = always)]
fn look(query: String) -> String {
    query
}

fn main() {}
