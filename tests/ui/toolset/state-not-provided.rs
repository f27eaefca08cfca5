use tool_runtime::{Provide, tool, toolset};

struct Shop;
struct Bank;

#[derive(Provide)]
struct App {
    shop: Shop,
}

/// Look.
#[tool]
fn look(#[state] shop: &Shop, #[state] bank: &Bank) -> String {
    let _ = (shop, bank);
    String::new()
}

fn main() {
    let _ = toolset!(App { shop: Shop }; look);
}
