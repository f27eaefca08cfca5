//! State and tools of the airline's desk.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{Failure, Validation, tool};

use crate::schedule::{Flight, timetable};

/// The desk, its flights and its bookings.
pub(crate) struct Desk {
    books: Mutex<Books>,
}

struct Books {
    flights: Vec<Flight>,
    bookings: Vec<Booking>,
}

/// A booking.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Booking {
    code: String,
    flight: &'static str,
    departure: &'static str,
    arrival: &'static str,
    date: NaiveDate,
    passengers: u32,
    /// The price for all passengers, in euros.
    total: u32,
}

/// The parameters that are known so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wish<'a> {
    pub(crate) departure: Option<&'a str>,
    pub(crate) arrival: Option<&'a str>,
    pub(crate) date: Option<NaiveDate>,
}

impl Wish<'_> {
    fn fits(self, flight: &Flight) -> bool {
        self.departure.is_none_or(|city| city == flight.departure)
            && self.arrival.is_none_or(|city| city == flight.arrival)
            && self.date.is_none_or(|date| date == flight.date)
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self { books: Mutex::new(Books { flights: timetable(), bookings: Vec::new() }) }
    }
}

impl Desk {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the values of `look` for the flights that fit and have free seats: each value once, in the order of the flights.
    fn possible<T: PartialEq>(&self, wish: Wish<'_>, look: impl Fn(&Flight) -> T) -> Vec<T> {
        let books = self.books();
        let mut found = Vec::new();
        for flight in books.flights.iter().filter(|flight| flight.seats > 0 && wish.fits(flight)) {
            let seen = look(flight);
            if !found.contains(&seen) {
                found.push(seen);
            }
        }
        found
    }

    pub(crate) fn cities(&self, wish: Wish<'_>, look: impl Fn(&Flight) -> &'static str) -> Vec<String> {
        self.possible(wish, look).into_iter().map(str::to_owned).collect()
    }

    /// Returns the days on which one flight has at least `seats` free seats.
    pub(crate) fn days(&self, wish: Wish<'_>, seats: u64) -> Vec<NaiveDate> {
        let days = self.possible(wish, |flight| (flight.seats, flight.date)).into_iter();
        let mut days: Vec<_> = days.filter(|(free, _)| u64::from(*free) >= seats).map(|(_, date)| date).collect();
        days.dedup();
        days
    }

    /// Returns the largest number of free seats on one flight.
    pub(crate) fn seats(&self, wish: Wish<'_>) -> u32 {
        self.possible(wish, |flight| flight.seats).into_iter().max().unwrap_or(0)
    }

    /// Books seats on one flight. Returns `None` if no flight has enough of them. Two calls cannot get the same seat.
    pub(crate) fn book(&self, wish: Wish<'_>, passengers: u32) -> Option<Booking> {
        let mut books = self.books();
        let number = books.bookings.len() + 1;
        let flight = books.flights.iter_mut().find(|flight| wish.fits(flight) && flight.seats >= passengers)?;
        flight.seats -= passengers;
        let Flight { number: name, departure, arrival, date, price, .. } = *flight;
        let code = format!("{name}-{number}");
        let booking = Booking { code, flight: name, departure, arrival, date, passengers, total: price * passengers };
        books.bookings.push(booking.clone());
        Some(booking)
    }
}

/// Show my bookings.
#[tool(effect = read_only, title = "My bookings")]
pub(crate) async fn my_bookings(#[state] desk: &Desk) -> Vec<Booking> {
    desk.books().bookings.clone()
}

/// Cancel a booking.
#[tool(effect = destructive, approval = always, title = "Cancel a booking")]
pub(crate) async fn cancel_booking(
    /// The code of the booking.
    #[dynamic(validate = booked)]
    code: String,
    #[state] desk: &Desk,
) -> Result<String, Failure> {
    let mut books = desk.books();
    let Some(place) = books.bookings.iter().position(|booking| booking.code == code) else {
        return Err(Failure::new(format!("there is no booking `{code}`")));
    };
    let booking = books.bookings.remove(place);
    if let Some(flight) = books.flights.iter_mut().find(|flight| flight.number == booking.flight) {
        flight.seats += booking.passengers;
    }
    Ok(format!("Booking {} is cancelled, {} euros are paid back.", booking.code, booking.total))
}

fn booked(value: Option<String>, known: CancelBookingCode<'_>) -> Validation<String> {
    let codes: Vec<String> = known.desk.books().bookings.iter().map(|booking| booking.code.clone()).collect();
    if codes.is_empty() {
        return Validation::reject("you have no bookings").allowed(codes);
    }
    let Some(value) = value else { return Validation::reject("which booking?").allowed(codes) };
    match codes.iter().find(|code| code.eq_ignore_ascii_case(value.trim())) {
        Some(code) => Validation::accept(code.clone()),
        None => Validation::reject("there is no such booking").allowed(codes),
    }
}
