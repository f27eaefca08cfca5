use tool_runtime::tool;

/// Ask the user.
#[tool(external, output = bool)]
fn ask(question: String) -> bool {
    question.is_empty()
}

fn main() {}
