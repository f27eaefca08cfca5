//! The flights.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::Serialize;

/// A flight.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Flight {
    pub(crate) number: &'static str,
    pub(crate) departure: &'static str,
    pub(crate) arrival: &'static str,
    pub(crate) date: NaiveDate,
    /// The number of free seats.
    pub(crate) seats: u32,
    /// The price for one passenger, in euros.
    pub(crate) price: u32,
}

/// A flight: its number, departure, arrival, day, seats and price.
type Row = (&'static str, &'static str, &'static str, (i32, u32, u32), u32, u32);

const ROWS: [Row; 12] = [
    ("TA101", "London", "New York", (2026, 12, 1), 100, 340),
    ("TA103", "London", "New York", (2026, 12, 2), 2, 290),
    ("TA110", "London", "Paris", (2026, 12, 1), 7, 60),
    ("TA201", "Berlin", "New York", (2026, 12, 3), 2, 410),
    ("TA204", "Berlin", "London", (2026, 12, 4), 2, 80),
    ("TA205", "Berlin", "London", (2026, 12, 5), 40, 70),
    ("TA301", "Paris", "Tokyo", (2026, 12, 5), 50, 620),
    ("TA302", "Paris", "London", (2026, 12, 6), 9, 55),
    ("TA304", "Paris", "Berlin", (2026, 12, 6), 4, 85),
    ("TA401", "New York", "Los Angeles", (2026, 12, 6), 25, 180),
    ("TA402", "New York", "London", (2026, 12, 7), 3, 310),
    ("TA501", "Tokyo", "Paris", (2026, 12, 8), 1, 590),
];

/// Returns all flights, with their seats before the first booking.
pub(crate) fn timetable() -> Vec<Flight> {
    let flight = |&(number, departure, arrival, (year, month, day), seats, price)| {
        let date = NaiveDate::from_ymd_opt(year, month, day)?;
        Some(Flight { number, departure, arrival, date, seats, price })
    };
    ROWS.iter().filter_map(flight).collect()
}
