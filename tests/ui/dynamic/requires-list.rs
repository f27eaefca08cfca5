use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool]
fn book(
    #[dynamic(validate = any)] from: String,
    #[dynamic(validate = any, requires = [from])] to: String,
    #[dynamic(validate = any, requires = from)] back: String,
) -> String {
    from + &to + &back
}

fn any<C>(value: Option<String>, _: C) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

fn main() {}
