use tool_runtime::tool;

/// Get the weather.
#[tool]
fn get_weather(city: String, #[arg(rename = "city")] town: String) -> String {
    city + &town
}

fn main() {}
