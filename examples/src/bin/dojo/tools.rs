//! The tools that run here; the others are the frontend's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{Context, Failure, Toolset, lint_test, tool, toolset};
use tool_server::protocol::ag_ui::Frontend;

pub(crate) fn weather() -> Toolset {
    toolset!(get_weather)
}

pub(crate) fn recipe() -> Toolset {
    toolset!(read_recipe, write_recipe, add_ingredient)
}

lint_test!(weather_is_sound: weather());
lint_test!(recipe_is_sound: recipe());

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Weather {
    city: String,
    /// In degrees Celsius.
    temperature: i32,
    /// In per cent.
    humidity: u32,
    /// In kilometres per hour.
    wind_speed: u32,
    /// In degrees Celsius.
    feels_like: i32,
    conditions: String,
}

/// Get the weather of a city.
#[tool(effect = read_only)]
fn get_weather(
    /// The city.
    location: String,
) -> Weather {
    // Made up, and the same for one city every time.
    let seed: u32 = location.to_lowercase().bytes().map(u32::from).sum();
    let conditions = ["sunny", "cloudy", "rainy", "windy"][seed as usize % 4].to_owned();
    let temperature = i32::try_from(seed % 30).unwrap_or_default();
    Weather {
        city: location,
        temperature,
        humidity: 40 + seed % 50,
        wind_speed: seed % 40,
        feels_like: temperature - 1,
        conditions,
    }
}

/// Something that goes into a dish.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Ingredient {
    /// An emoji.
    icon: String,
    name: String,
    /// With its unit, such as `200 g`.
    amount: String,
}

fn frontend(cx: &Context) -> Result<&Frontend, Failure> {
    Frontend::of(cx).ok_or_else(|| Failure::new("there is no page with a recipe"))
}

/// Read the recipe as it is on the page.
#[tool(effect = read_only)]
fn read_recipe(#[context] cx: &Context) -> Result<Value, Failure> {
    Ok(frontend(cx)?.state()["recipe"].clone())
}

/// Write a whole recipe in place of the one on the page.
#[tool]
fn write_recipe(
    /// What the dish is called.
    title: String,
    /// What goes into it.
    ingredients: Vec<Ingredient>,
    /// What is done, step by step.
    instructions: Vec<String>,
    #[context] cx: &Context,
) -> Result<String, Failure> {
    let frontend = frontend(cx)?;
    let mut state = frontend.state();
    if !state["recipe"].is_object() {
        state = json!({ "recipe": { "skill_level": "Beginner", "cooking_time": "30 min", "special_preferences": [] } });
    }
    state["recipe"]["title"] = title.into();
    state["recipe"]["ingredients"] = serde_json::to_value(ingredients)?;
    state["recipe"]["instructions"] = instructions.into();
    frontend.set(state);
    Ok("the recipe is on the page".to_owned())
}

/// Add one ingredient to the recipe on the page.
#[tool]
fn add_ingredient(
    /// What is added.
    ingredient: Ingredient,
    #[context] cx: &Context,
) -> Result<String, Failure> {
    let added = serde_json::to_value(ingredient)?;
    let is_added = frontend(cx)?.update(|state| match state.pointer_mut("/recipe/ingredients") {
        Some(Value::Array(ingredients)) => {
            ingredients.push(added);
            true
        }
        _ => false,
    });
    match is_added {
        Ok(true) => Ok("it is on the page".to_owned()),
        Ok(false) => Err(Failure::new("there is no recipe yet; write one")),
        Err(error) => Err(Failure::new(error.to_string())),
    }
}
