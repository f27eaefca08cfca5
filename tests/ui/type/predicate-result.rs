use tool_runtime::tool;

/// Pay somebody.
#[tool(approval = when(|input| input.amount), allow(undescribed))]
fn pay(amount: u64) -> u64 {
    amount
}

fn main() {}
