use tool_runtime::tool;

/// Ask the user.
#[tool(external, output = bool, resumable)]
struct Confirm {
    question: String,
}

fn main() {}
