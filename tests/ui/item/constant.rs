use tool_runtime::tool;

/// The weather.
#[tool]
const WEATHER: &str = "sunny";

/// The weather.
#[tool]
mod weather {}

/// The weather.
#[tool]
impl Weather {}

struct Weather;

fn main() {}
