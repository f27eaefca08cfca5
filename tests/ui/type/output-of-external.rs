#![allow(deprecated)]

use tool_runtime::tool;

struct Answer;

/// Ask the user.
#[tool(external, output = Answer)]
struct Ask {
    question: String,
}

fn main() {}
