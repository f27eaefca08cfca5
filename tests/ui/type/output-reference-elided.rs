use tool_runtime::tool;

/// Look.
#[tool]
fn look(
    /// The name.
    name: String,
) -> Option<&str> {
    Some("a")
}

fn main() {}
