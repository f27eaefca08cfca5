use tool_runtime::tool;

/// Get the weather.
#[tool]
unsafe fn get_weather(city: String) -> String {
    city
}

fn main() {}
