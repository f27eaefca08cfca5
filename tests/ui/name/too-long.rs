use tool_runtime::tool;

/// Get the weather.
#[tool(name = "get_the_weather_of_a_city_for_today_tomorrow_and_the_days_after_it")]
fn get_weather(city: String) -> String {
    city
}

fn main() {}
