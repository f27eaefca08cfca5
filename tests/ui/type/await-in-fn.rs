#![allow(deprecated)]

use tool_runtime::tool;

async fn find(query: String) -> String {
    query
}

/// Look something up.
#[tool]
fn look(query: String) -> String {
    find(query).await
}

fn main() {}
