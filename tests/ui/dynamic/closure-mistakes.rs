use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(
    #[dynamic(validate = |value, _| any(value))] from: String,
    #[dynamic(validate = |value, known| same(value, known.form), requires(from))] to: String,
    #[dynamic(validate = |value, _| any(value).is_accepted())] via: String,
) -> String {
    from + &to + &via
}

fn any(value: Option<String>) -> Validation<String> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn same(value: Option<String>, from: &str) -> Validation<String> {
    any(value.filter(|value| value == from))
}

fn main() {}
