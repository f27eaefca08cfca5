use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = from)] from: String) -> String {
    from
}

fn from(value: String, _: BookFrom<'_>) -> Validation<String> {
    Validation::accept(value)
}

fn main() {}
