//! One function, one attribute, one agent: a variant of the README's first tool, with real temperatures.
//!
//! `cargo run -p examples --bin weather` starts a conversation. Without a key in the environment, the model needs no network.
//!
//! `echo "How warm is Oslo in July?" | cargo run -q -p examples --bin weather` prints:
//!
//! ```text
//! Ask me how warm a city is, for example: How warm is Oslo in July?
//!
//! > · get_climate {"city":"Oslo","month":7}
//! city:  Oslo
//! month: 7
//! mean:  17.0
//!
//! Anything else?
//!
//! >
//! ```

use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{Agent, agent::StopWhen, lint_test, tool, toolset};
use tool_terminal::Terminal;

/// Cities with their mean temperature by month, in degrees Celsius.
const CLIMATE: [(&str, [f64; 12]); 3] = [
    ("Cairo", [14.0, 15.0, 18.0, 22.0, 25.0, 28.0, 29.0, 28.0, 27.0, 24.0, 19.0, 15.0]),
    ("Oslo", [-4.0, -3.0, 1.0, 6.0, 11.0, 15.0, 17.0, 16.0, 12.0, 6.0, 1.0, -3.0]),
    ("Sydney", [24.0, 24.0, 22.0, 19.0, 16.0, 14.0, 13.0, 14.0, 17.0, 19.0, 21.0, 23.0]),
];

/// The usual temperature of a city.
#[derive(Serialize, JsonSchema)]
struct Climate {
    city: &'static str,
    month: usize,
    /// The mean temperature of the month, in degrees Celsius.
    mean: f64,
}

/// Get the usual temperature of a city in a month.
#[tool(effect = read_only, title = "Climate")]
async fn get_climate(
    /// The city's English name.
    #[arg(length(1..=60), example = "Oslo")]
    city: String,
    /// The month, 1 for January.
    #[arg(range(1..=12))]
    month: usize,
) -> Result<Climate, String> {
    let found = CLIMATE.iter().find(|(name, _)| name.eq_ignore_ascii_case(city.trim()));
    let (city, means) = found.ok_or_else(|| {
        let known = CLIMATE.map(|(city, _)| city).join(", ");
        format!("no data about `{city}`; known cities: {known}")
    })?;
    Ok(Climate { city, month, mean: means[month - 1] })
}

const INSTRUCTIONS: &str =
    "Answer questions about the climate of cities. Always call `get_climate`, and use only its result.";

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let agent = Agent::new(examples::model())
        .tools(toolset!(get_climate))
        .instructions(INSTRUCTIONS)
        // Small models repeat themselves.
        .stop_when(StopWhen::stuck(3));
    Terminal::new().chat(agent, "Ask me how warm a city is, for example: How warm is Oslo in July?").await
}

// A test that fails for schemas and texts that mislead models.
lint_test!(toolset!(get_climate));

// A test of this repository alone: the schema and the decoder agree.
#[cfg(test)]
tool_test_kit::toolset_tests!("weather", toolset!(get_climate));
