use tool_runtime::tool;

struct Json<T>(T);

/// Look something up.
#[tool(allow(undescribed))]
async fn look(query: String) -> Json<String> {
    Json(query)
}

fn main() {}
