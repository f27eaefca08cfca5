use tool_runtime::tool;

/// Look something up.
#[tool]
union Look {
    by_name: u32,
}

fn main() {}
