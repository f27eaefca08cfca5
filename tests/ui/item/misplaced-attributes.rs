use tool_runtime::tool;

/// Look something up.
#[tool]
#[arg(default = "a")]
fn look(query: String) -> String {
    query
}

/// Count.
#[tool]
#[context]
fn count(query: String) -> String {
    query
}

fn main() {}
