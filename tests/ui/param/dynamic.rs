use tool_runtime::tool;

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = departure)] departure: String) -> String {
    departure
}

fn main() {}
