use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(from)] from: String, #[dynamic(validate(to))] to: String) -> String {
    from + &to
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

fn to(value: Option<String>, _: BookTo<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

fn main() {}
