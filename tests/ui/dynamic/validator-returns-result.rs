use tool_runtime::tool;

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = from)] from: String) -> String {
    from
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Result<String, String> {
    value.ok_or_else(|| "missing".to_owned())
}

fn main() {}
