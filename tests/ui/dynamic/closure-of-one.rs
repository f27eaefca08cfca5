use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = |value| any(value))] from: String) -> String {
    from
}

fn any(value: Option<String>) -> Validation<String> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
