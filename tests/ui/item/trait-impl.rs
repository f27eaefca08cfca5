use tool_runtime::tool;

struct Shop;

trait Look {
    fn look(&self, query: String) -> String;
}

impl Look for Shop {
    /// Look something up.
    #[tool]
    fn look(&self, query: String) -> String {
        query
    }
}

fn main() {}
