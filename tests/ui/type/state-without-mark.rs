use tool_runtime::{Context, tool};

struct Shop;

/// Greet somebody.
#[tool(allow(undescribed))]
fn greet(shop: Shop, cx: Context) -> String {
    let _ = shop;
    cx.call_id().to_owned()
}

fn main() {}
