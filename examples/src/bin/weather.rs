//! One function, one attribute, one agent: the README's first example with a table of real temperatures.
//!
//! `cargo run -p examples --bin weather`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{Agent, agent::StopWhen, lint_test, tool, toolset};
use tool_terminal::Terminal;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    #[default]
    Celsius,
    Fahrenheit,
}

/// How warm a city usually is.
#[derive(Debug, Serialize, JsonSchema)]
struct Climate {
    city: &'static str,
    month: &'static str,
    /// The mean temperature of the month.
    mean: f64,
    unit: Unit,
}

#[derive(Debug)]
struct UnknownCity(String);

impl std::fmt::Display for UnknownCity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known: Vec<&str> = CLIMATE.iter().map(|(city, _)| *city).collect();
        write!(out, "nothing is known about `{}`; known cities: {}", self.0, known.join(", "))
    }
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
    /// The unit of the temperature.
    #[arg(default)]
    unit: Unit,
) -> Result<Climate, UnknownCity> {
    let found = CLIMATE.iter().find(|(name, _)| name.eq_ignore_ascii_case(city.trim()));
    let (city, means) = found.ok_or(UnknownCity(city))?;
    let celsius = means[month - 1];
    let mean = match unit {
        Unit::Celsius => celsius,
        Unit::Fahrenheit => (celsius * 9.0 / 5.0 + 32.0).round(),
    };
    Ok(Climate { city, month: MONTHS[month - 1], mean, unit })
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Mean temperatures by month, in degrees Celsius, rounded.
const CLIMATE: [(&str, [f64; 12]); 8] = [
    ("Berlin", [1.0, 2.0, 5.0, 10.0, 14.0, 18.0, 20.0, 19.0, 15.0, 10.0, 5.0, 2.0]),
    ("Cairo", [14.0, 15.0, 18.0, 22.0, 25.0, 28.0, 29.0, 28.0, 27.0, 24.0, 19.0, 15.0]),
    ("London", [5.0, 5.0, 8.0, 10.0, 13.0, 17.0, 19.0, 18.0, 16.0, 12.0, 8.0, 6.0]),
    ("New York", [1.0, 2.0, 6.0, 12.0, 17.0, 22.0, 25.0, 25.0, 21.0, 15.0, 9.0, 4.0]),
    ("Oslo", [-4.0, -3.0, 1.0, 6.0, 11.0, 15.0, 17.0, 16.0, 12.0, 6.0, 1.0, -3.0]),
    ("Paris", [5.0, 6.0, 9.0, 12.0, 16.0, 19.0, 21.0, 21.0, 17.0, 13.0, 8.0, 6.0]),
    ("Sydney", [24.0, 24.0, 22.0, 19.0, 16.0, 14.0, 13.0, 14.0, 17.0, 19.0, 21.0, 23.0]),
    ("Tokyo", [5.0, 6.0, 9.0, 14.0, 19.0, 22.0, 26.0, 27.0, 23.0, 18.0, 13.0, 8.0]),
];

const INSTRUCTIONS: &str = "You tell how warm cities are. You do not know it yourself: call `get_climate` for each question, \
    and answer with what it says.";

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let agent = Agent::new(examples::model())
        .tools(toolset!(get_climate))
        .instructions(INSTRUCTIONS)
        // Small models repeat themselves.
        .stop_when(StopWhen::stuck(3));
    Terminal::new().chat(agent, "Ask me how warm a city is, for example: How warm is Oslo in July?").await
}

lint_test!(toolset!(get_climate));

#[cfg(test)]
tool_test_kit::toolset_tests!("weather", toolset!(get_climate));
