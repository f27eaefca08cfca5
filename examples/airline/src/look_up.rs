//! Tools that only read: `search_flights`, `look_up_customer`, `look_up_booking`.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{Validation, tool};

use crate::data::{Booking, Customer, Desk, Flight, Trip};
use crate::journeys::Wish;
use crate::shared;

/// A way from one city to another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Journey {
    /// One flight, or two with a change of planes.
    flights: Vec<Flight>,
}

/// Search the flights of a day. Call it even if only some values are known: it returns the missing and the allowed values.
#[tool(effect = read_only, title = "Search flights")]
pub fn search_flights(
    /// The city of departure.
    #[dynamic(validate = |value, known: SearchFlightsFrom<'_>| shared::city(value, known.desk.books().cities(None)))]
    from: String,
    /// The city of arrival.
    #[dynamic(
        validate = |value, known: SearchFlightsTo<'_>| shared::city(value, known.desk.books().cities(Some(known.from))),
        requires(from)
    )]
    to: String,
    /// The day of departure.
    #[dynamic(validate = date, requires(from, to, seats))]
    date: NaiveDate,
    /// The number of passengers.
    #[arg(default = 1, range(1..=6))]
    seats: usize,
    #[state] desk: &Desk,
) -> Vec<Journey> {
    let wish = Wish { from: &from, to: &to, trip: Trip::OneWay, cabin: None, seats };
    let journeys = desk.books().journeys(wish).into_iter().filter(|flights| flights[0].date() == date);
    journeys.map(|flights| Journey { flights }).collect()
}

fn date(value: Option<NaiveDate>, known: SearchFlightsDate<'_>) -> Validation<NaiveDate> {
    let books = known.desk.books();
    let wish = Wish { from: known.from, to: known.to, trip: Trip::OneWay, cabin: None, seats: *known.seats };
    let mut days: Vec<NaiveDate> = books.journeys(wish).iter().map(|flights| flights[0].date()).collect();
    days.sort();
    days.dedup();
    let today = books.now.date();
    let seats = if *known.seats == 1 { "a free seat".to_owned() } else { format!("{} free seats", known.seats) };
    match value {
        Some(day) if days.contains(&day) => Validation::accept(day),
        Some(day) if day < today => Validation::reject(format!("{day} is over: today is {today}")).allowed(days),
        _ if days.is_empty() => Validation::reject(format!("no flight has {seats}")).allowed(days),
        Some(day) => Validation::reject(format!("no flight with {seats} on {day}")).allowed(days),
        None => Validation::reject("which day?").allowed(days),
    }
}

/// A customer, and the codes of all bookings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CustomerFile {
    customer: Customer,
    bookings: Vec<String>,
}

/// Look up a customer: membership, travellers, methods of payment, and the codes of the bookings.
#[tool(effect = read_only, title = "My bookings")]
pub fn look_up_customer(
    /// The customer's id, or the address of the e-mail.
    #[dynamic(
        validate = |value, known: LookUpCustomerCustomer<'_>| shared::customer(value, &known.desk.books(), known.call()),
        derives(account: Customer)
    )]
    customer: String,
    #[derived] account: Customer,
    #[state] desk: &Desk,
) -> CustomerFile {
    let books = desk.books();
    let own = books.bookings.iter().filter(|booking| booking.customer == customer);
    CustomerFile { customer: account, bookings: own.map(|booking| booking.code.clone()).collect() }
}

/// Look up a booking: flights, passengers, bags and payments.
#[tool(effect = read_only, title = "Show a booking")]
pub fn look_up_booking(
    /// The code of the booking.
    #[dynamic(
        validate = |value, known: LookUpBookingBooking<'_>| shared::booking(value, &known.desk.books(), known.call(), |_| None),
        derives(found: Booking)
    )]
    booking: String,
    #[derived] found: Booking,
    #[state] desk: &Desk,
) -> Booking {
    // The code names the same booking as when the validator ran, but another call may have changed it since.
    desk.books().booking(&booking).cloned().unwrap_or(found)
}
