use serde::Deserialize;
use tool_runtime::tool;

#[derive(Deserialize)]
struct Money {
    cents: u64,
}

/// Pay somebody.
#[tool(allow(undescribed))]
fn pay(amount: Money) -> u64 {
    amount.cents
}

fn main() {}
