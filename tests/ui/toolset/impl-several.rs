use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    #[tool]
    fn count(&self) -> u32 {
        3
    }

    /// Look for something.
    #[tool(efect = read_only, allow(undescribed))]
    fn look(&self, what: &str) -> String {
        what.to_owned()
    }

    /// Sell something.
    #[tool(allow(undescribed))]
    fn sell(&self, what: String) -> String {
        what
    }
}

fn main() {
    let _ = Shop.toolset();
    let _ = Shop.look("a");
}
