use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(
    #[dynamic(validate = any)] from: String,
    #[dynamic(validate = any, requires = [from])] to: String,
    #[dynamic(validate = any, requires = from)] back: String,
) -> String {
    from + &to + &back
}

fn any<C>(value: Option<String>, _: C) -> Verdict<String> {
    value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
}

fn main() {}
