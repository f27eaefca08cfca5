use tool_runtime::{tool, toolset};

/// Search the shop.
#[tool(allow(undescribed))]
fn search(query: String) -> String {
    query
}

mod web {
    use tool_runtime::tool;

    /// Search the web.
    #[tool(allow(undescribed))]
    pub fn search(query: String) -> String {
        query
    }
}

fn main() {
    let _ = toolset!(search, web::search);
}
