use tool_runtime::tool;

/// Look things up.
#[tool]
fn look(
    /// What to look for.
    names: Vec<Unknwon>,
) -> u8 {
    3
}

fn main() {}
