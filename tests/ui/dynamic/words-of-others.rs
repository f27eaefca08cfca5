use tool_runtime::{Validation, tool};

/// Book.
#[tool]
fn book(
    /// From.
    from: String,
    /// To.
    #[dynamic(require(from), validator = check)]
    to: String,
) -> String {
    format!("{from}{to}")
}

fn check(to: Option<String>, _: &BookTo<'_>) -> Validation<String> {
    Validation::accept(to.unwrap_or_default())
}

fn main() {}
