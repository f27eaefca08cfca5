use tool_runtime::tool;

/// Get the weather.
#[tool(title = "Weather", title = "The weather")]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
