use tool_runtime::tool;

/// Pay somebody.
#[tool(allow(undescribed))]
struct Pay {
    amount: u32,
}

fn main() {}
