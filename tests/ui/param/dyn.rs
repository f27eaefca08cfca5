use tool_runtime::tool;

/// Look something up.
#[tool(allow(undescribed))]
fn look(query: Box<dyn std::fmt::Debug + Send>) -> String {
    format!("{query:?}")
}

fn main() {}
