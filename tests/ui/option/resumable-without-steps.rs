use tool_runtime::{Context, tool};

/// Write a file.
#[tool(resumable)]
async fn write(path: String) -> String {
    path
}

/// Write a file too.
#[tool(resumable)]
fn write_at_once(path: String, #[context] cx: &Context) -> String {
    let _ = cx;
    path
}

fn main() {}
