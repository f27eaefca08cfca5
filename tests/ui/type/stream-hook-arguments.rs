use tool_runtime::{Context, tool};

/// Pay somebody.
#[tool(on_input_available = known, allow(undescribed))]
fn pay(amount: u32) -> u32 {
    amount
}

fn known(_: u32, _: &Context) {}

fn main() {}
