#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = from)] from: String) -> String {
    from
}

fn from(value: String, _: BookFrom<'_>) -> Verdict<String> {
    Verdict::accept(value)
}

fn main() {}
