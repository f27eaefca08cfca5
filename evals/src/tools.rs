//! The tools of the sample. Each has parameters of other types and limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{Toolset, tool, toolset};

/// Returns all tools.
pub fn all() -> Toolset {
    toolset!(
        book_train,
        weather,
        send_message,
        resize_image,
        search_recipes,
        open_ticket,
        transfer,
        plan_route,
        rate_film,
        set_alarm,
        order_pizza,
        convert_units,
        list_files,
        translate,
        reserve_room,
        run_report
    )
}

/// Declares an enum of texts.
macro_rules! choice {
    ($(#[doc = $doc:literal] $name:ident { $($variant:ident),+ })+) => {$(
        #[doc = $doc]
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        enum $name { $($variant),+ }
    )+};
}

choice! {
    /// The class of a seat.
    Seat { First, Second, Sleeper }
    /// A unit of temperature.
    Temperature { Celsius, Fahrenheit, Kelvin }
    /// The way in which a message is sent.
    Channel { Email, TextMessage, Letter, Telephone }
    /// A format of images.
    ImageFormat { Png, Jpeg, Webp, Avif }
    /// A diet.
    Diet { Vegan, Vegetarian, Halal, Kosher, GlutenFree }
    /// The urgency of a ticket.
    Priority { Low, Normal, High, Critical }
    /// A means of transport.
    Vehicle { Bicycle, Train, Tram, Ferry, OnFoot }
    /// The size of a pizza.
    Size { Small, Medium, Large }
    /// An order of files.
    Order { Name, Modified, Bytes }
    /// A tone of voice.
    Tone { Formal, Friendly, Neutral }
}

/// A place.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Place {
    /// The city.
    city: String,
    /// The street.
    street: String,
}

/// Some time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Span {
    /// The first day of the month.
    first: i64,
    /// The number of days.
    days: i64,
}

/// Books seats on a train.
#[tool]
fn book_train(
    /// The station of departure.
    origin: String,
    /// The station of arrival.
    destination: String,
    /// The number of seats.
    #[arg(range(1..=9))]
    seats: i64,
    /// The class of the seats.
    class: Option<Seat>,
) -> String {
    format!("{origin} {destination} {seats} {class:?}")
}

/// Returns the weather.
#[tool(effect = read_only)]
fn weather(
    /// The city.
    city: String,
    /// The unit.
    unit: Temperature,
    /// The number of days.
    #[arg(range(1..=14))]
    days: Option<i64>,
) -> String {
    format!("{city} {unit:?} {days:?}")
}

/// Sends a message to people.
#[tool]
fn send_message(
    /// The names of the people.
    recipients: Vec<String>,
    /// The text.
    body: String,
    /// The way in which it is sent.
    channel: Channel,
    /// Set to send it at once.
    urgent: Option<bool>,
) -> String {
    format!("{recipients:?} {body} {channel:?} {urgent:?}")
}

/// Changes the size of an image.
#[tool]
fn resize_image(
    /// The name of the image.
    image: String,
    /// The width in pixels.
    #[arg(range(1..=8000))]
    width: i64,
    /// The height in pixels.
    #[arg(range(1..=8000))]
    height: i64,
    /// The format.
    format: Option<ImageFormat>,
) -> String {
    format!("{image} {width} {height} {format:?}")
}

/// Searches recipes.
#[tool(effect = read_only)]
fn search_recipes(
    /// The ingredients at hand.
    ingredients: Vec<String>,
    /// The diets that the recipe respects.
    diets: Option<Vec<Diet>>,
    /// The longest time in minutes.
    #[arg(range(5..=600))]
    minutes: Option<i64>,
) -> String {
    format!("{ingredients:?} {diets:?} {minutes:?}")
}

/// Opens a ticket.
#[tool]
fn open_ticket(
    /// The title.
    title: String,
    /// The urgency.
    priority: Priority,
    /// The labels.
    labels: Option<Vec<String>>,
    /// Set to inform the team.
    notify: bool,
) -> String {
    format!("{title} {priority:?} {labels:?} {notify}")
}

/// Transfers money.
#[tool]
fn transfer(
    /// The account that pays.
    from_account: String,
    /// The account that receives.
    to_account: String,
    /// The amount.
    amount: f64,
    /// A remark.
    memo: Option<String>,
) -> String {
    format!("{from_account} {to_account} {amount} {memo:?}")
}

/// Plans a route.
#[tool(effect = read_only)]
fn plan_route(
    /// The start.
    start: Place,
    /// The goal.
    goal: Place,
    /// The means of transport.
    vehicle: Vehicle,
    /// The places on the way.
    stops: Option<Vec<String>>,
) -> String {
    format!("{start:?} {goal:?} {vehicle:?} {stops:?}")
}

/// Rates a film.
#[tool]
fn rate_film(
    /// The title of the film.
    film: String,
    /// The number of stars.
    #[arg(range(1..=5))]
    stars: i64,
    /// A review.
    review: Option<String>,
) -> String {
    format!("{film} {stars} {review:?}")
}

/// Sets an alarm.
#[tool]
fn set_alarm(
    /// The hour.
    #[arg(range(0..=23))]
    hour: i64,
    /// The minute.
    #[arg(range(0..=59))]
    minute: i64,
    /// Set to repeat it each day.
    repeat: bool,
    /// A name for it.
    label: Option<String>,
) -> String {
    format!("{hour} {minute} {repeat} {label:?}")
}

/// Orders a pizza.
#[tool]
fn order_pizza(
    /// The size.
    size: Size,
    /// The toppings.
    toppings: Vec<String>,
    /// The place of delivery.
    address: Place,
    /// The tip.
    tip: Option<f64>,
) -> String {
    format!("{size:?} {toppings:?} {address:?} {tip:?}")
}

/// Converts a quantity.
#[tool(effect = read_only)]
fn convert_units(
    /// The quantity.
    quantity: f64,
    /// The present unit.
    source: Temperature,
    /// The unit of the result.
    target: Temperature,
    /// The number of decimals.
    #[arg(range(0..=9))]
    decimals: Option<i64>,
) -> String {
    format!("{quantity} {source:?} {target:?} {decimals:?}")
}

/// Lists files.
#[tool(effect = read_only)]
fn list_files(
    /// The folder.
    folder: String,
    /// The order.
    order: Order,
    /// Set to list inner folders.
    recursive: Option<bool>,
    /// The largest number of files.
    #[arg(range(1..=1000))]
    limit: Option<i64>,
) -> String {
    format!("{folder} {order:?} {recursive:?} {limit:?}")
}

/// Translates a text.
#[tool(effect = read_only)]
fn translate(
    /// The text.
    text: String,
    /// The language of the result.
    language: String,
    /// The tone of voice.
    tone: Tone,
    /// The words that stay.
    keep: Option<Vec<String>>,
) -> String {
    format!("{text} {language} {tone:?} {keep:?}")
}

/// Reserves a room.
#[tool]
fn reserve_room(
    /// The name of the room.
    room: String,
    /// The time.
    time: Span,
    /// The number of guests.
    #[arg(range(1..=200))]
    guests: i64,
    /// The equipment.
    equipment: Option<Vec<String>>,
) -> String {
    format!("{room} {time:?} {guests} {equipment:?}")
}

/// Makes a report.
#[tool(effect = read_only)]
fn run_report(
    /// The subject.
    subject: String,
    /// The years that it covers.
    years: Vec<i64>,
    /// The limit from which values count.
    threshold: Option<f64>,
    /// Set to add charts.
    charts: bool,
) -> String {
    format!("{subject} {years:?} {threshold:?} {charts}")
}
