use tool_runtime::tool;

/// Get the weather.
#[tool(allow(undescribed))]
fn get_weather(city: String) -> String {
    ctiy
}

fn main() {}
