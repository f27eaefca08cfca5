use tool_runtime::tool;

fn is_large(amount: &u32) -> bool {
    *amount > 3
}

/// Pay somebody.
#[tool(approval = when(is_large), allow(undescribed))]
fn pay(amount: u32) -> u32 {
    amount
}

fn main() {}
