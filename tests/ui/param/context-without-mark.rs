use tool_runtime::{Context, tool};

/// Look something up.
#[tool]
fn look(cx: &Context) -> String {
    cx.call_id().to_owned()
}

fn main() {}
