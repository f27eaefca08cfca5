use tool_runtime::tool;

struct Money;

/// Pay somebody.
#[tool(allow(undescribed))]
fn pay(amount: Money) -> String {
    let _ = amount;
    String::new()
}

fn main() {}
