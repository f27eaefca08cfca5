use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(_: String, _: u8) -> u8 {
    3
}

fn main() {}
