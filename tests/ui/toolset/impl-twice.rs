use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    /// Look around.
    #[tool]
    fn look(&self) -> u8 {
        3
    }
}

#[tools]
impl Shop {
    /// Buy something.
    #[tool]
    fn buy(&self) -> u8 {
        3
    }
}

fn main() {}
