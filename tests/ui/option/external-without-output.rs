use tool_runtime::tool;

/// Ask the user.
#[tool(external)]
struct Ask {
    question: String,
}

fn main() {}
