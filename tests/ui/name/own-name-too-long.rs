use tool_runtime::tool;

/// Get the weather.
#[tool]
fn get_the_weather_of_a_city_for_today_tomorrow_and_the_days_after_it(city: String) -> String {
    city
}

fn main() {}
