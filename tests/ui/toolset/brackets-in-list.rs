use tool_runtime::{tool, toolset};

/// Look.
#[tool]
fn look() {}

fn main() {
    let _ = toolset!([look]);
}
