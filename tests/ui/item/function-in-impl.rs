use tool_runtime::tool;

struct Shop;

impl Shop {
    /// Make a shop.
    #[tool]
    fn make() -> Self {
        Shop
    }
}

fn main() {
    let _ = Shop::make();
}
