use tool_runtime::tool;

/// Pay somebody.
#[tool(approval = when(is_large), allow(undescribed))]
fn pay(amount: u64) -> u64 {
    amount
}

fn main() {}
