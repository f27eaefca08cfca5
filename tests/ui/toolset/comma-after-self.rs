use tool_runtime::{Toolset, tool, toolset};

#[derive(Clone)]
struct Shop;

/// Look.
#[tool]
fn look(#[state] shop: &Shop) -> String {
    let _ = shop;
    String::new()
}

impl Shop {
    fn tools(self) -> Toolset {
        toolset!(self, look)
    }
}

fn main() {
    let _ = Shop.tools();
}
