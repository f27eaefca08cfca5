use tool_runtime::tool;

/// Confirm something.
#[tool(external, output = bool, blocking, retries = 2, idempotent)]
struct Confirm {
    action: String,
}

fn main() {}
