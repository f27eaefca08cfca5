use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    /// Look.
    #[tool]
    const MOST: u8 = 3;

    /// Look.
    #[tool]
    fn look(&self) -> u8 {
        Self::MOST
    }
}

fn main() {
    let _ = Shop.toolset();
}
