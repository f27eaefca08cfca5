#![allow(deprecated)]

use tool_runtime::tool;

/// Get the weather.
#[tool]
fn get_weather(city: String) -> String {
    ctiy
}

fn main() {}
