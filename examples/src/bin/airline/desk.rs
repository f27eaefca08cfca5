//! What the airline's desk can do.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{Context, ExecuteWith, Failure, tool};

use crate::schedule::{City, Flight, flights};

/// The desk and its bookings.
#[derive(Default)]
pub(crate) struct Desk {
    bookings: Mutex<Vec<Booking>>,
}

/// A booking.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Booking {
    code: String,
    passengers: u32,
    /// What all passengers pay, in euros.
    total: u32,
    flight: Flight,
}

impl Desk {
    fn bookings(&self) -> MutexGuard<'_, Vec<Booking>> {
        self.bookings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The flights of a day, with the seats that `bookings` leave free.
fn free(bookings: &[Booking], from: City, to: City, date: NaiveDate) -> Vec<Flight> {
    let mut flights = flights(from, to, date);
    for flight in &mut flights {
        let same = |booking: &&Booking| booking.flight.number == flight.number && booking.flight.date == date;
        let taken: u32 = bookings.iter().filter(same).map(|booking| booking.passengers).sum();
        flight.seats = flight.seats.saturating_sub(taken);
    }
    flights
}

/// The flight of that number, with the seats that are still free.
fn find(bookings: &[Booking], number: &str, date: NaiveDate) -> Option<Flight> {
    let line: u32 = number.to_uppercase().strip_prefix("TA")?.parse().ok()?;
    let line = line.checked_sub(100)? / 10;
    let city = |index: u32| CITIES.get(usize::try_from(index).ok()?).copied();
    let (from, to) = (city(line / 8)?, city(line % 8)?);
    free(bookings, from, to, date).into_iter().find(|flight| flight.number.eq_ignore_ascii_case(number))
}

const CITIES: [City; 8] =
    [City::Amsterdam, City::Berlin, City::Lisbon, City::London, City::Oslo, City::Paris, City::Rome, City::Vienna];

/// Search the flights of a day.
#[tool(effect = read_only, title = "Search flights")]
pub(crate) async fn search_flights(
    /// Where the journey begins.
    from: City,
    /// Where it ends.
    to: City,
    /// The day.
    date: NaiveDate,
    #[state] desk: &Desk,
) -> Result<Vec<Flight>, Failure> {
    let found: Vec<Flight> =
        free(&desk.bookings(), from, to, date).into_iter().filter(|flight| flight.seats > 0).collect();
    if found.is_empty() {
        return Err(Failure::told("there is no flight with a free seat; try another day"));
    }
    Ok(found)
}

/// Book a flight.
#[tool(name = "book_flight", title = "Book a flight", state = Desk, effect = write, approval = always)]
pub(crate) struct BookFlight {
    /// The number of the flight.
    #[arg(pattern = "^[Tt][Aa][0-9]{3}$", example = "TA164")]
    flight: String,
    /// The day.
    date: NaiveDate,
    /// How many passengers.
    #[arg(range(1..=9), default = 1)]
    passengers: u32,
}

impl ExecuteWith<Desk> for BookFlight {
    type Output = Booking;
    type Error = Failure;

    async fn execute(self, desk: &Desk, _cx: &Context) -> Result<Booking, Failure> {
        // One lock from the look to the booking: two calls cannot get the same seat.
        let mut bookings = desk.bookings();
        let Some(flight) = find(&bookings, &self.flight, self.date) else {
            return Err(Failure::told(format!(
                "there is no flight {} on {}; search for flights first",
                self.flight, self.date
            )));
        };
        if flight.seats < self.passengers {
            return Err(Failure::told(format!("flight {} has only {} free seats", flight.number, flight.seats)));
        }
        let code = format!("{}-{}", flight.number, bookings.len() + 1);
        let booking = Booking { code, passengers: self.passengers, total: flight.price * self.passengers, flight };
        bookings.push(booking.clone());
        Ok(booking)
    }
}

/// Show my bookings.
#[tool(effect = read_only, title = "My bookings")]
pub(crate) async fn my_bookings(#[state] desk: &Desk) -> Vec<Booking> {
    desk.bookings().clone()
}

/// Cancel a booking.
#[tool(effect = destructive, approval = always, title = "Cancel a booking")]
pub(crate) async fn cancel_booking(
    /// The code of the booking.
    code: String,
    #[state] desk: &Desk,
) -> Result<String, Failure> {
    let mut bookings = desk.bookings();
    let Some(place) = bookings.iter().position(|booking| booking.code.eq_ignore_ascii_case(code.trim())) else {
        return Err(Failure::told(format!("there is no booking `{code}`")));
    };
    let booking = bookings.remove(place);
    Ok(format!("booking {} is cancelled, {} euros are paid back", booking.code, booking.total))
}
