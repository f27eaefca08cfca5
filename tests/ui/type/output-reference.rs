use tool_runtime::tool;

struct Shop {
    name: String,
}

/// Say the name.
#[tool]
fn name(#[state] shop: &Shop) -> &str {
    &shop.name
}

/// Say the name, or none.
#[tool]
fn some_name(#[state] shop: &Shop) -> Option<&str> {
    Some(&shop.name)
}

fn main() {}
