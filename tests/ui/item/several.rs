use tool_runtime::{tool, toolset};

#[tool(efect = read_only, approval = sometimes, name = "get weather")]
async fn get_weather(
    (city, country): (String, String),
    #[arg(range(7..=1))] days: u8,
    unit: &str,
) -> String {
    format!("{city} {country} {days} {unit}")
}

fn main() {
    let _ = toolset!(get_weather);
    let _ = get_weather((String::new(), String::new()), 3, "");
}
