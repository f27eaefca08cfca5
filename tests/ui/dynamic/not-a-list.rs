use tool_runtime::tool;

/// Book a flight.
#[tool]
fn book(#[dynamic = "from"] from: String) -> String {
    from
}

fn main() {}
