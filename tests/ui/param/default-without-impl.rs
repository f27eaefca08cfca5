use tool_runtime::tool;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Page(u8);

/// Look something up.
#[tool(allow(undescribed))]
fn look(#[arg(default)] page: Page) -> u8 {
    page.0
}

fn main() {}
