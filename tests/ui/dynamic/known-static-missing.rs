use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = from)] from: String, #[dynamic(validate = to)] to: String) -> String {
    from + &to
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

fn to(value: Option<String>, known: BookTo<'_>) -> Validation<String> {
    Validation::accept(value.unwrap_or_default() + known.from)
}

fn main() {}
