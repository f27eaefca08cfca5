use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = from())] from: String) -> String {
    from
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

fn main() {}
