#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = from)] from: String, #[dynamic(validate = to)] to: String) -> String {
    from + &to
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Verdict<String> {
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

fn to(value: Option<String>, known: BookTo<'_>) -> Verdict<String> {
    Verdict::accept(value.unwrap_or_default() + known.from)
}

fn main() {}
