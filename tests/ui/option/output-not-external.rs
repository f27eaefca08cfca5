use tool_runtime::tool;

/// Get the weather.
#[tool(output = String)]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
