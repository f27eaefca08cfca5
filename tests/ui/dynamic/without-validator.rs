use tool_runtime::tool;

/// Book a flight.
#[tool]
fn book(#[dynamic] from: String) -> String {
    from
}

fn main() {}
