use tool_runtime::tool;

#[tool(name = "get the weather!")]
fn get_weather(city: String, #[arg(rename = "city")] town: String) -> String {
    city + &town
}

fn main() {}
