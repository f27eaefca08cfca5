use std::borrow::Cow;

use tool_runtime::tool;

/// Greet somebody.
#[tool]
fn greet(#[state] greeting: &Cow<'_, str>, name: String) -> String {
    format!("{greeting}, {name}")
}

fn main() {}
