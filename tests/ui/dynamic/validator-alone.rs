use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(from)] from: String, #[dynamic(validate(to))] to: String) -> String {
    from + &to
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Verdict<String> {
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

fn to(value: Option<String>, _: BookTo<'_>) -> Verdict<String> {
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

fn main() {}
