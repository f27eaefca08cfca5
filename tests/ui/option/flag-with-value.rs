use tool_runtime::tool;

/// Get the weather.
#[tool(idempotent = true)]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
