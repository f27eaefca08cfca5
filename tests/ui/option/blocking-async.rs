use tool_runtime::tool;

/// Get the weather.
#[tool(blocking)]
async fn get_weather(city: String) -> String {
    city
}

fn main() {}
