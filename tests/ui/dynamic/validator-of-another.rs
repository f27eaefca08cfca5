#![allow(deprecated)]

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(
    #[dynamic(validate = to)] from: String,
    #[dynamic(validate = to)] to: String,
    class: u8,
) -> String {
    format!("{from} {to} {class}")
}

fn from(value: Option<String>, known: BookFrom<'_>) -> Verdict<String> {
    match value {
        Some(value) => Verdict::accept(value),
        None => Verdict::reject(format!("{} {}", known.class, known.call().call_id())),
    }
}

fn to(value: Option<String>, _: BookTo<'_>) -> Verdict<String> {
    value.map_or(Verdict::reject("missing"), Verdict::accept)
}

fn main() {}
