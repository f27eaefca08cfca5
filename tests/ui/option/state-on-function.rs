use tool_runtime::tool;

struct Shop;

/// Get the weather.
#[tool(state = Shop)]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
