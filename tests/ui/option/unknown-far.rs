use tool_runtime::tool;

/// Get the weather.
#[tool(colour = "red")]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
