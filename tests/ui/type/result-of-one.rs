use tool_runtime::tool;

/// Like the standard library's, whose place rustc only shows where `rust-src` is installed.
pub enum Result<T, E> {
    Ok(T),
    Err(E),
}

/// Look.
#[tool]
async fn look(
    /// The name.
    name: String,
) -> Result<String> {
    Result::Ok(name)
}

fn main() {}
