use tool_runtime::tool;

#[derive(serde::Serialize)]
struct Found {
    name: String,
}

/// Look something up.
#[tool(allow(undescribed))]
async fn look(query: String) -> Result<Vec<Found>, String> {
    Ok(vec![Found { name: query }])
}

fn main() {}
