use tool_runtime::tool;

struct Screen;

/// Ask the user.
#[tool(external, output = bool, state = Screen)]
struct Ask {
    question: String,
}

fn main() {}
