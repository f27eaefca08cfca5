use tool_runtime::{tool, tools};

/// Look something up.
#[tool(allow(undescribd, dead_code))]
fn look(query: String) -> String {
    query
}

struct Shop;

#[tools(allow)]
impl Shop {
    /// Count.
    #[tool]
    fn count(&self) -> u8 {
        3
    }
}

fn main() {
    let _ = Shop.toolset();
}
