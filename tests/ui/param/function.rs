use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: fn(u8) -> u8, again: impl Fn(u8) -> u8) -> u8 {
    query(again(3))
}

fn main() {}
