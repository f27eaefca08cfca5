use tool_runtime::tool;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Filter {
    name: String,
    and: Option<Filter>,
}

/// Look something up.
#[tool(allow(undescribed))]
fn look(filter: Filter) -> String {
    filter.name
}

fn main() {}
