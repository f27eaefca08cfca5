use tool_runtime::tool;

/// Greet somebody.
#[tool]
fn greet(#[serde(rename = "who")] name: String) -> String {
    name
}

fn main() {}
