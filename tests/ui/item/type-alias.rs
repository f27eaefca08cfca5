use tool_runtime::tool;

/// Look something up.
#[tool]
type Look = fn(String) -> String;

/// Look something up.
#[tool]
static LOOK: fn(String) -> String = |query| query;

fn main() {}
