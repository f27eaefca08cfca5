//! Which flights there are. The same every time, so that a conversation can be repeated.

use chrono::{Datelike, NaiveDate, Weekday};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A city with an airport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum City {
    Amsterdam,
    Berlin,
    Lisbon,
    London,
    Oslo,
    Paris,
    Rome,
    Vienna,
}

/// A flight.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Flight {
    pub(crate) number: String,
    pub(crate) from: City,
    pub(crate) to: City,
    pub(crate) date: NaiveDate,
    pub(crate) departs: String,
    pub(crate) arrives: String,
    /// The price for one passenger, in euros.
    pub(crate) price: u32,
    /// How many seats are free.
    pub(crate) seats: u32,
}

impl City {
    /// Kilometres east and north of a point in the Atlantic; good enough for a price.
    fn place(self) -> (i64, i64) {
        match self {
            Self::Amsterdam => (1020, 1190),
            Self::Berlin => (1600, 1200),
            Self::Lisbon => (0, 0),
            Self::London => (690, 1100),
            Self::Oslo => (1250, 2100),
            Self::Paris => (890, 850),
            Self::Rome => (1800, 480),
            Self::Vienna => (1960, 1020),
        }
    }
}

/// The flights of a day, in the order of their departure. On Saturdays there are fewer.
pub(crate) fn flights(from: City, to: City, date: NaiveDate) -> Vec<Flight> {
    if from == to {
        return Vec::new();
    }
    let ((x, y), (u, v)) = (from.place(), to.place());
    let distance = ((x - u).pow(2) + (y - v).pow(2)).isqrt().unsigned_abs();
    let minutes = u32::try_from(45 + distance / 12).unwrap_or(u32::MAX);
    let departures: &[u32] = if date.weekday() == Weekday::Sat { &[620] } else { &[395, 740, 1085] };
    let line = (from as u32) * 8 + to as u32;
    departures
        .iter()
        .zip(0..)
        .map(|(departs, index)| {
            // A little disorder that is the same every time.
            let mix = line * 31 + date.ordinal() * 17 + index * 7;
            Flight {
                number: format!("TA{}", 100 + line * 10 + index),
                from,
                to,
                date,
                departs: clock(departs + line % 5 * 5),
                arrives: clock(departs + line % 5 * 5 + minutes),
                price: 39 + u32::try_from(distance / 15).unwrap_or(0) + mix % 60,
                seats: mix % 9,
            }
        })
        .collect()
}

fn clock(minutes: u32) -> String {
    format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}
