use tool_runtime::tool;

/// Repeat a text.
#[tool]
fn repeat(text: String, #[arg(default = text.len())] times: usize) -> String {
    text.repeat(times)
}

fn main() {}
