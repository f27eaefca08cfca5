use tool_runtime::tool;

/// Pay somebody.
#[tool]
fn pay(amount: u32) -> impl ToString {
    amount
}

fn main() {}
