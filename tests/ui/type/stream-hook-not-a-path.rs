use tool_runtime::tool;

/// Pay somebody.
#[tool(on_input_start = 3)]
fn pay(amount: u32) -> u32 {
    amount
}

fn main() {}
