use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: dyn ToString) -> String {
    query.to_string()
}

fn main() {}
