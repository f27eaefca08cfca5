use tool_runtime::tool;

struct Receipt;

/// Pay somebody.
#[tool(allow(undescribed))]
fn pay(amount: u32) -> Receipt {
    let _ = amount;
    Receipt
}

fn main() {}
