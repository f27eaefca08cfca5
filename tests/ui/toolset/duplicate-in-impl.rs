use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    /// Count the items.
    #[tool]
    fn count(&self) -> u32 {
        3
    }

    /// Count the items again.
    #[tool(name = "count")]
    fn count_again(&self) -> u32 {
        3
    }
}

fn main() {}
