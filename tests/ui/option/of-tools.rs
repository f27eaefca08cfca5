use tool_runtime::tools;

struct Shop;

#[tools(approval = always, krate = tool_runtime)]
impl Shop {
    /// Count the items.
    #[tool]
    fn count(&self) -> u32 {
        3
    }
}

fn main() {}
