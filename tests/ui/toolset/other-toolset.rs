use tool_runtime::{Toolset, tool, toolset};

/// Look.
#[tool]
fn look() {}

fn others() -> Toolset {
    toolset!(look)
}

fn main() {
    let _ = toolset!(others());
}
