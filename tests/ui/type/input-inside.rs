use tool_runtime::tool;

struct Money;

/// Pay somebody.
#[tool(allow(undescribed))]
fn pay(amounts: Option<Vec<Money>>) -> String {
    let _ = amounts;
    String::new()
}

fn main() {}
