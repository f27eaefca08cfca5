use tool_runtime::tool;

/// Get the weather.
#[tool(allow(undescribed))]
extern "C" fn get_weather(city: u32) -> u32 {
    city
}

fn main() {}
