use tool_runtime::{Context, tool};

/// Write a file.
#[tool(idempotent, resumable)]
async fn write(path: String, #[context] cx: &Context) -> String {
    let _ = cx;
    path
}

/// Read a file.
#[tool(effect = read_only, resumable)]
async fn read(path: String, #[context] cx: &Context) -> String {
    let _ = cx;
    path
}

fn main() {}
