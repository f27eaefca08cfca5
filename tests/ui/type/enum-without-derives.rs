use tool_runtime::tool;

enum Unit {
    Celsius,
    Fahrenheit,
}

/// Look something up.
#[tool(allow(undescribed))]
fn look(unit: Option<Unit>, units: Vec<Unit>) -> u8 {
    match (unit, units.len()) {
        (Some(Unit::Celsius), _) => 3,
        (Some(Unit::Fahrenheit), _) => 4,
        _ => 5,
    }
}

fn main() {}
