use tool_runtime::{Context, tool};

struct Shop;

/// Greet somebody.
#[tool]
fn greet(#[state] shop: &mut Shop, #[context] cx: &mut Context) -> String {
    let _ = shop;
    cx.call_id().to_owned()
}

fn main() {}
