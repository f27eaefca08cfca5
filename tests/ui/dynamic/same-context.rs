use tool_runtime::{Rejection, Validation, tool};

/// Book a flight.
#[tool(check = whole)]
fn book(#[dynamic(validate = check)] check: u8) -> u8 {
    check
}

fn check(value: Option<u8>, _: BookCheck<'_>) -> Validation<u8> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn whole(_: &book, _: BookCheck<'_>) -> Result<(), Rejection> {
    Ok(())
}

fn main() {}
