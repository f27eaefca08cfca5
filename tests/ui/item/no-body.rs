use tool_runtime::tool;

/// Get the weather.
#[tool]
fn get_weather(city: String) -> String;

fn main() {
    let _ = get_weather(String::new());
}
