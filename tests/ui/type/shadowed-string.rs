//! A type of one's own with the name of a usual one.

use tool_runtime::tool;

struct String;

/// Greets.
#[tool]
fn greet(
    /// Whom.
    name: String,
) -> bool {
    let _ = name;
    true
}

fn main() {}
