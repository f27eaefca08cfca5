use tool_runtime::tool;

/// Get the weather.
#[tool]
fn get_weather(city: &str, days: &[u8]) -> usize {
    city.len() + days.len()
}

fn main() {}
