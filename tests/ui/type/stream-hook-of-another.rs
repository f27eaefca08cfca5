use tool_runtime::{Context, tool, tool::PartialInput};

/// Pay somebody.
#[tool(on_input_delta = more, allow(undescribed))]
fn pay(amount: u32) -> u32 {
    amount
}

/// Take it back.
#[tool(allow(undescribed))]
fn take(amount: u32) -> u32 {
    amount
}

fn more(_: PartialInput<'_, take>, _: &str, _: &Context) {}

fn main() {}
