use tool_runtime::tool;

/// Get the weather.
#[tool]
enum Weather {
    Sunny,
}

fn main() {}
