//! The temperatures that the example `weather` knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "a description would go to the model")]
pub enum Unit {
    #[default]
    Celsius,
    Fahrenheit,
}

impl Unit {
    /// Returns a temperature in this unit.
    pub fn of(self, celsius: f64) -> f64 {
        match self {
            Self::Celsius => celsius,
            Self::Fahrenheit => (celsius * 9.0 / 5.0 + 32.0).round(),
        }
    }
}

/// The names of the months.
pub const MONTHS: [&str; 12] = [
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

/// The cities, each with its mean temperature by month, in degrees Celsius, rounded.
pub const CLIMATE: [(&str, [f64; 12]); 8] = [
    ("Berlin", [1.0, 2.0, 5.0, 10.0, 14.0, 18.0, 20.0, 19.0, 15.0, 10.0, 5.0, 2.0]),
    ("Cairo", [14.0, 15.0, 18.0, 22.0, 25.0, 28.0, 29.0, 28.0, 27.0, 24.0, 19.0, 15.0]),
    ("London", [5.0, 5.0, 8.0, 10.0, 13.0, 17.0, 19.0, 18.0, 16.0, 12.0, 8.0, 6.0]),
    ("New York", [1.0, 2.0, 6.0, 12.0, 17.0, 22.0, 25.0, 25.0, 21.0, 15.0, 9.0, 4.0]),
    ("Oslo", [-4.0, -3.0, 1.0, 6.0, 11.0, 15.0, 17.0, 16.0, 12.0, 6.0, 1.0, -3.0]),
    ("Paris", [5.0, 6.0, 9.0, 12.0, 16.0, 19.0, 21.0, 21.0, 17.0, 13.0, 8.0, 6.0]),
    ("Sydney", [24.0, 24.0, 22.0, 19.0, 16.0, 14.0, 13.0, 14.0, 17.0, 19.0, 21.0, 23.0]),
    ("Tokyo", [5.0, 6.0, 9.0, 14.0, 19.0, 22.0, 26.0, 27.0, 23.0, 18.0, 13.0, 8.0]),
];
