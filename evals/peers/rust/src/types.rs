//! The types of parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares an enum of texts.
macro_rules! choice {
    ($(#[doc = $doc:literal] $name:ident { $($variant:ident),+ })+) => {$(
        #[doc = $doc]
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant),+ }
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
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The city.
    pub city: String,
    /// The street.
    pub street: String,
}

/// Some time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The first day of the month.
    pub first: i64,
    /// The number of days.
    pub days: i64,
}
