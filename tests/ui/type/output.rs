#![allow(deprecated)]

use tool_runtime::tool;

struct Receipt;

/// Pay somebody.
#[tool]
fn pay(amount: u32) -> Receipt {
    let _ = amount;
    Receipt
}

fn main() {}
