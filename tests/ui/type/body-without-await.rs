use tool_runtime::tool;

async fn find(query: String) -> String {
    query
}

/// Look something up.
#[tool(allow(undescribed))]
async fn look(query: String) -> String {
    find(query)
}

fn main() {}
