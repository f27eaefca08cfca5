use tool_runtime::tool;

async fn is_long(input: &look) -> bool {
    input.query.len() > 3
}

/// Look something up.
#[tool(approval = when(is_long), allow(undescribed))]
fn look(query: String) -> String {
    query
}

fn main() {}
