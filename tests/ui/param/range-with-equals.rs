use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(#[arg(range = 1..=5)] pages: u8, #[arg(length = 3)] code: String, #[arg(range(5))] most: u8) {
    drop((pages, code, most));
}

fn main() {}
