use tool_runtime::{tools, toolset};

struct Shop;

#[tools]
impl Shop {
    /// Look.
    #[tool]
    fn look(&self) -> u8 {
        3
    }
}

fn main() {
    let _ = toolset!(Shop);
}
