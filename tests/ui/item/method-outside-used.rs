use tool_runtime::tool;

struct Shop;

impl Shop {
    /// Count the items.
    #[tool]
    fn count(&self) -> u32 {
        3
    }
}

fn main() {
    let _ = Shop.toolset();
}
