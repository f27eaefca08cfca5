//! Tools of the agent: one for each kind of card that the page can show.

mod folder;
mod train;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{Provide, Toolset, tool, toolset};

use folder::{Folder, check_folder, delete_file, write_note};
use train::{Trains, book_train};

#[derive(Default, Provide)]
struct State {
    folder: Folder,
    trains: Trains,
}

/// Returns all tools, with a folder and trains of their own.
pub(crate) fn all() -> Toolset {
    toolset!(State::default(); get_weather, write_note, check_folder, delete_file, book_train, PickColour)
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sky {
    Clear,
    Cloudy,
    Rain,
}

/// The weather as it is now.
#[derive(Serialize, JsonSchema)]
struct Weather {
    city: &'static str,
    sky: Sky,
    /// In degrees Celsius.
    temperature: i32,
}

const WEATHER: [Weather; 4] = [
    Weather { city: "Berlin", sky: Sky::Cloudy, temperature: 9 },
    Weather { city: "Oslo", sky: Sky::Clear, temperature: -2 },
    Weather { city: "Rome", sky: Sky::Rain, temperature: 16 },
    Weather { city: "Lisbon", sky: Sky::Clear, temperature: 21 },
];

/// Get the weather in a city.
#[tool(title = "Weather", effect = read_only)]
fn get_weather(
    /// The city.
    city: String,
) -> Result<Weather, String> {
    let known = WEATHER.into_iter().find(|weather| weather.city.eq_ignore_ascii_case(city.trim()));
    known.ok_or_else(|| format!("there is no weather station in {city}"))
}

/// A colour.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Colour {
    /// As people call it.
    name: String,
    /// Such as `#3366cc`.
    hex: String,
}

/// Let the user pick a colour for the page. It is done in the browser.
#[tool(name = "pick_colour", title = "Pick a colour", effect = read_only, external, output = Colour)]
struct PickColour {}
