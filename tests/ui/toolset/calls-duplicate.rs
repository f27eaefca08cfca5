use tool_runtime::{TypedCall, Calls, tool};

/// Look.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    query
}

#[derive(Calls)]
enum AppCall {
    Look(TypedCall<look>),
    Again(TypedCall<look>),
}

fn main() {}
