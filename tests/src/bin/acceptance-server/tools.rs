//! The tools of the contracts.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{Context, Provide, Toolset, tool, toolset};

use crate::probe::Counters;

#[derive(Provide)]
struct State {
    counters: Arc<Counters>,
}

/// Every tool, counted by `counters`.
pub(crate) fn tools(counters: Arc<Counters>) -> Toolset {
    let state = State { counters };
    toolset!(state; getWeather, countdown, explode, slow, deleteFile, dropDatabase, getLocation, shareScreen)
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Celsius,
    Fahrenheit,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    units: Units,
    temperature: i32,
}

/// The weather of a city.
#[tool(name = "getWeather", effect = read_only, eager)]
#[allow(non_snake_case, reason = "the contract's name")]
fn getWeather(
    /// The city.
    city: String,
    /// The unit of the temperature.
    #[arg(default = Units::Celsius)]
    units: Units,
    #[state] counters: &Arc<Counters>,
) -> Weather {
    counters.ran("getWeather");
    Weather { city, units, temperature: 21 }
}

#[derive(Serialize, JsonSchema)]
struct Count {
    n: i64,
}

/// Count down to zero.
#[tool(effect = read_only)]
async fn countdown(
    /// Where to begin.
    from: i64,
    #[state] counters: &Arc<Counters>,
    #[context] cx: &Context,
) -> Count {
    counters.ran("countdown");
    for n in (0..=from.min(10_000)).rev() {
        cx.preliminary(json!({ "n": n }));
        tokio::task::yield_now().await;
    }
    Count { n: 0 }
}

/// Fail.
#[tool(effect = read_only)]
fn explode(
    /// What to say.
    message: String,
    #[state] counters: &Arc<Counters>,
) -> Result<String, String> {
    counters.ran("explode");
    Err(format!("boom: {message}"))
}

/// Counts a call that was dropped before its end.
struct Watch<'a> {
    counters: &'a Counters,
    is_done: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.counters.aborted("slow");
        }
    }
}

/// Wait.
#[tool(effect = read_only)]
async fn slow(
    /// How many milliseconds.
    ms: f64,
    #[state] counters: &Arc<Counters>,
) -> Value {
    counters.ran("slow");
    let mut watch = Watch { counters, is_done: false };
    let time = Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default();
    tokio::time::sleep(time).await;
    watch.is_done = true;
    json!({ "waited": ms })
}

#[derive(Serialize, JsonSchema)]
struct Deleted {
    deleted: String,
}

/// Delete a file.
#[tool(name = "deleteFile", effect = destructive, approval = always, challenge = "deletes a file")]
#[allow(non_snake_case, reason = "the contract's name")]
fn deleteFile(
    /// Which.
    filename: String,
    #[state] counters: &Arc<Counters>,
) -> Deleted {
    counters.ran("deleteFile");
    Deleted { deleted: filename }
}

/// Drop a database.
#[tool(name = "dropDatabase", effect = destructive, approval = never)]
#[allow(non_snake_case, reason = "the contract's name")]
fn dropDatabase(
    /// Which.
    name: String,
    #[state] counters: &Arc<Counters>,
) -> String {
    counters.ran("dropDatabase");
    format!("{name} dropped")
}

/// Where the user is; the browser knows.
#[tool(name = "getLocation", effect = read_only, external, output = Value)]
#[allow(non_camel_case_types, reason = "the contract's name")]
struct getLocation {}

/// Show a window of the user's screen; the browser does it.
#[tool(name = "shareScreen", external, output = Value, approval = always)]
#[allow(non_camel_case_types, reason = "the contract's name")]
struct shareScreen {
    /// Which window.
    window: String,
}
