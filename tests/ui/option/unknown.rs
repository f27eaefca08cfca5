use tool_runtime::tool;

/// Get the weather.
#[tool(efect = read_only)]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
