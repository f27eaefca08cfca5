use tool_runtime::tool;

/// Look something up.
#[tool]
async fn look(#[arg(example = "three")] pages: u8, #[arg(example = 3)] query: String) -> u8 {
    drop(query);
    pages
}

fn main() {}
