use tool_runtime::{Failure, tool};

struct Receipt;

/// Pay somebody.
#[tool(allow(undescribed))]
async fn pay(amount: u32) -> Result<Receipt, Failure> {
    let _ = amount;
    Ok(Receipt)
}

fn main() {}
