use tool_runtime::tool;

/// Get the weather.
#[tool(nam = "weather", effect = red_only, timeout = "soon", idempotent = 1, retries)]
fn get_weather(#[arg(rnage(0..7), length(1..=0), default = 3, default = 4)] city: String) -> String {
    city
}

fn main() {}
