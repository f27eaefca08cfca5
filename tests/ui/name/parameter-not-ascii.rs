use tool_runtime::tool;

/// Get the size.
#[tool]
fn size(größe: String, #[arg(rename = "a b")] b: String) -> String {
    größe + &b
}

fn main() {}
