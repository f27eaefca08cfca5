use tool_runtime::{Context, tool};

/// Look something up.
#[tool]
fn look(#[arg(context)] cx: &Context, #[arg(state)] shop: &u8, #[ctx] more: &Context) -> String {
    format!("{}{shop}{}", cx.call_id(), more.call_id())
}

fn main() {}
