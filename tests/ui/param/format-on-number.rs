use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(#[arg(format = "email")] pages: u8, #[arg(pattern = 3)] code: String) -> u8 {
    drop(code);
    pages
}

fn main() {}
