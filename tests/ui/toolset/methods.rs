use tool_runtime::{tools, toolset};

struct Shop;

#[tools]
impl Shop {
    /// Look.
    #[tool]
    fn look(&self) -> u8 {
        3
    }

    /// Buy.
    #[tool]
    fn buy(&self) -> u8 {
        3
    }
}

fn main() {
    let tools = toolset!(Shop; Shop::look, Shop::buy);
    assert_eq!(tools.len(), 2);
}
