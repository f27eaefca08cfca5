use tool_runtime::tool;

#[derive(serde::Deserialize)]
struct Filter {
    name: String,
}

#[derive(schemars::JsonSchema)]
struct Page {
    number: u8,
}

/// Look something up.
#[tool(allow(undescribed))]
fn look(filter: Filter, page: Page) -> String {
    format!("{}{}", filter.name, page.number)
}

fn main() {}
