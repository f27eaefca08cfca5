use tool_runtime::{tool, toolset};

struct Shop;

struct Bank;

/// Look.
#[tool]
fn look(#[state] shop: &Shop, #[state] bank: &Bank) -> String {
    let _ = (shop, bank);
    String::new()
}

fn main() {
    let _ = toolset!((Shop, Bank); look);
}
