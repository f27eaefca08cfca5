use tool_runtime::tool;

/// Look something up.
#[tool(annotations(read_only_hint = true), desc = "…", needs_approval)]
fn look(query: String) -> String {
    query
}

/// Delete something.
#[tool(requires_approval = true, input = Query, deps = Shop, async)]
fn delete(query: String) -> String {
    query
}

fn main() {}
