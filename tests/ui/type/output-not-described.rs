use serde::Serialize;
use tool_runtime::tool;

#[derive(Serialize)]
struct Receipt;

/// Pay somebody.
#[tool(allow(undescribed))]
fn pay(amount: u32) -> Vec<Receipt> {
    let _ = amount;
    vec![Receipt]
}

fn main() {}
