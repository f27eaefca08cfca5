use std::borrow::Cow;

use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: Cow<str>) -> String {
    query.into_owned()
}

fn main() {}
