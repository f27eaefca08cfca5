use tool_runtime::tool;

/// Pay somebody.
#[tool(approval = when(true), allow(undescribed))]
fn pay(amount: u64) -> u64 {
    amount
}

fn main() {}
