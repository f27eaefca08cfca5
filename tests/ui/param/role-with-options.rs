use tool_runtime::{Context, tool};

struct Shop;

/// Greet somebody.
#[tool]
fn greet(#[state(Shop)] shop: &Shop, #[context = "cx"] cx: &Context, #[arg = 3] count: u8) -> String {
    let _ = (shop, count);
    cx.call_id().to_owned()
}

fn main() {}
