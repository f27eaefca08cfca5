use schemars::JsonSchema;
use tool_runtime::tool;

#[derive(JsonSchema)]
struct Money {
    cents: u64,
}

/// Pay somebody.
#[tool(allow(undescribed))]
fn pay(amount: Money) -> u64 {
    amount.cents
}

fn main() {}
