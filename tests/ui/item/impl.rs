use tool_runtime::tool;

struct Shop;

#[tool]
impl Shop {
    /// Look something up.
    fn look(&self, query: String) -> String {
        query
    }
}

fn main() {}
