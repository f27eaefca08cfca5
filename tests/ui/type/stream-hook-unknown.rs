use tool_runtime::tool;

/// Pay somebody.
#[tool(on_input_start = begins, allow(undescribed))]
fn pay(amount: u32) -> u32 {
    amount
}

fn main() {}
