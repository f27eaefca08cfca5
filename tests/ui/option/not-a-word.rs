use tool_runtime::tool;

/// Get the weather.
#[tool("weather", idempotent)]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
