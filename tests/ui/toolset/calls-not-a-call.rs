use tool_runtime::{Calls, tool};

/// Look.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    query
}

#[derive(Calls)]
enum AppCall {
    Look(look),
    Other(String),
}

fn main() {}
