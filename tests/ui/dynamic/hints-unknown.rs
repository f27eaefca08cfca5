use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool]
fn book(
    #[dynamic(validate = from, requires(class))] from: String,
    #[dynamic(validate = to, hints(clas))] to: String,
    class: u8,
) -> String {
    format!("{from} {to} {class}")
}

fn from(value: Option<String>, known: BookFrom<'_>) -> Validation<String> {
    match value {
        Some(value) => Validation::accept(value),
        None => Validation::reject(format!("{} {}", known.class, known.call().call_id())),
    }
}

fn to(value: Option<String>, _: BookTo<'_>) -> Validation<String> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
