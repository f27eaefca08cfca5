use std::borrow::Cow;

use tool_runtime::tool;

/// Get the weather.
#[tool]
fn get_weather(city: Option<&str>, unit: Cow<'_, str>) -> usize {
    city.map_or(0, str::len) + unit.len()
}

fn main() {}
