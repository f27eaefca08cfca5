use tool_runtime::{TypedCall, Calls, Provide, tool};

/// Look.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    query
}

#[derive(Provide)]
#[provide(krate = tool_runtime)]
struct App {
    name: String,
}

#[derive(Calls)]
#[calls]
enum AppCall {
    Look(TypedCall<look>),
}

fn main() {}
