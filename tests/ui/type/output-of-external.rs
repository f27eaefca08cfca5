use tool_runtime::tool;

struct Answer;

/// Ask the user.
#[tool(external, output = Answer, allow(undescribed))]
struct Ask {
    question: String,
}

fn main() {}
