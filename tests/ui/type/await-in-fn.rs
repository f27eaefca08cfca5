use tool_runtime::tool;

async fn find(query: String) -> String {
    query
}

/// Look something up.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    find(query).await
}

fn main() {}
