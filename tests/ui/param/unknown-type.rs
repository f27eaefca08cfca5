use tool_runtime::tool;

/// Look something up.
#[tool(allow(undescribed))]
fn look(query: Query) -> u8 {
    3
}

fn main() {}
