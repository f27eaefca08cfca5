use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(#[arg(pattern = r"^(?=.*\d)\w+$")] code: String) -> String {
    code
}

fn main() {}
