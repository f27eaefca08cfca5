use tool_runtime::tools;

struct Shop;

#[tools(name = "shop", prefix = "shop_")]
impl Shop {
    /// Look.
    #[tool]
    fn look(&self) -> u8 {
        3
    }
}

fn main() {
    let _ = Shop.toolset();
}
