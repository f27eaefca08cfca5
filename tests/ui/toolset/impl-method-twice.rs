use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    /// Look.
    #[tool]
    #[tool]
    fn look(&self) -> u8 {
        3
    }
}

fn main() {
    let _ = Shop.toolset();
}
