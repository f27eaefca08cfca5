use tool_runtime::tool;

/// Look something up.
#[tool(approval = always())]
fn look(query: String) -> String {
    query
}

/// Look something up.
#[tool(approval = is_long)]
fn look_again(query: String) -> String {
    query
}

/// Look something up.
#[tool(approval = |input| input.query.len() > 3)]
fn look_more(query: String) -> String {
    query
}

fn main() {}
