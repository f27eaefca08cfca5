use tool_runtime::tool;

///
#[tool]
fn get_weather(city: String) -> String {
    city
}

#[tool(description = "  ")]
fn get_time(city: String) -> String {
    city
}

fn main() {}
