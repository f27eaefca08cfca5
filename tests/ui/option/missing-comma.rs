use tool_runtime::tool;

/// Get the weather.
#[tool(idempotent sequential, title = "Weather")]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
