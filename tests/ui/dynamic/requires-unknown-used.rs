use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(
    #[dynamic(validate = from)] from: String,
    #[dynamic(validate = to, requires(departure))] to: String,
) -> String {
    format!("{from} {to}")
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Validation<String> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn to(value: Option<String>, known: BookTo<'_>) -> Validation<String> {
    if known.departure == "Rome" || known.departure.is_empty() {
        return Validation::reject(format!("not from {}", known.departure));
    }
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
