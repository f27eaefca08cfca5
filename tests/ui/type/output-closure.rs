use tool_runtime::tool;

/// Look something up.
#[tool(allow(undescribed))]
fn look(query: String) -> Box<dyn Fn() -> String + Send> {
    Box::new(move || query.clone())
}

fn main() {}
