#![allow(deprecated)]

use tool_runtime::tool;

struct Money;

/// Pay somebody.
#[tool]
fn pay(amount: Money) -> String {
    let _ = amount;
    String::new()
}

fn main() {}
