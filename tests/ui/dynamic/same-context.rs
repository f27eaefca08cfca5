use tool_runtime::{Rejection, Verdict, tool};

/// Book a flight.
#[tool(check = whole)]
fn book(#[dynamic(validate = check)] check: u8) -> u8 {
    check
}

fn check(value: Option<u8>, _: BookCheck<'_>) -> Verdict<u8> {
    value.map_or(Verdict::reject("missing"), Verdict::accept)
}

fn whole(_: &book, _: BookCheck<'_>) -> Result<(), Rejection> {
    Ok(())
}

fn main() {}
