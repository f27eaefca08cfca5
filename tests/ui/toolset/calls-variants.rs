use tool_runtime::{Call, Calls, tool};

/// Look.
#[tool(allow(undescribed))]
fn look(query: String) -> String {
    query
}

#[derive(Calls)]
enum AppCall {
    Look(Call<look>),
    Nothing,
    Both(Call<look>, Call<look>),
    Named { call: Call<look> },
}

fn main() {}
