//! The tool `book_flight`: a partial call returns the allowed values of the missing parameters.

use chrono::NaiveDate;
use tool_runtime::{Context, ExecuteWith, Rejection, Validation, tool};

use crate::desk::{Booking, Desk, Wish};

/// Book a flight. Call it even if only some values are known: it returns the missing and the allowed values.
#[tool(
    name = "book_flight",
    title = "Book a flight",
    state = Desk,
    approval = always,
    challenge = "Book {passengers} seat(s) from {departure} to {arrival} on {date}?"
)]
pub(crate) struct BookFlight {
    /// The city of departure.
    #[dynamic(validate = departure)]
    departure: String,
    /// The city of arrival.
    #[dynamic(validate = arrival, requires(departure))]
    arrival: String,
    /// The day of the flight.
    #[dynamic(validate = date, requires(departure, arrival), hints(passengers))]
    date: NaiveDate,
    /// The number of passengers.
    #[arg(range(1..=9))]
    #[dynamic(validate = passengers, requires(departure, arrival, date))]
    passengers: u32,
}

fn departure(value: Option<String>, known: BookFlightDeparture<'_>) -> Validation<String> {
    city(value, known.state().cities(Wish::default(), |flight| flight.departure))
}

fn arrival(value: Option<String>, known: BookFlightArrival<'_>) -> Validation<String> {
    let wish = Wish { departure: Some(known.departure), ..Wish::default() };
    city(value, known.state().cities(wish, |flight| flight.arrival))
}

/// Accepts one of `cities`, in upper or lower case.
fn city(value: Option<String>, cities: Vec<String>) -> Validation<String> {
    let Some(value) = value else { return Validation::reject("which city?").allowed(cities) };
    match cities.iter().find(|city| city.eq_ignore_ascii_case(value.trim())) {
        Some(city) => Validation::accept(city.clone()),
        None => Validation::reject(format!("no flight with free seats for {value}")).allowed(cities),
    }
}

fn date(value: Option<NaiveDate>, known: BookFlightDate<'_>) -> Validation<NaiveDate> {
    let wish = Wish { departure: Some(known.departure), arrival: Some(known.arrival), date: None };
    if let Some(day) = value.filter(|day| known.state().days(wish, 1).contains(day)) {
        return Validation::accept(day);
    }
    // The parameter `passengers` is validated later. Still, no day is offered that has too few seats.
    let seats = known.passengers.map_or(1, |count| u64::from(*count));
    let days = known.state().days(wish, seats);
    let seats = if seats == 1 { "a free seat".to_owned() } else { format!("{seats} free seats") };
    let reason = match value {
        _ if days.is_empty() => format!("no flight has {seats}"),
        Some(day) => format!("no flight with {seats} on {day}"),
        None => "which day?".to_owned(),
    };
    Validation::reject(reason).allowed(days)
}

fn passengers(value: Option<u32>, known: BookFlightPassengers<'_>) -> Validation<u32> {
    let wish = Wish { departure: Some(known.departure), arrival: Some(known.arrival), date: Some(*known.date) };
    let most = known.state().seats(wish);
    match value {
        None => Validation::reject("how many people fly?"),
        Some(count) if count > most => {
            Validation::reject(format!("not enough free seats: {count} passengers, and {most} are left"))
                .allowed(1..=most)
        }
        Some(count) => Validation::accept(count),
    }
}

impl ExecuteWith<Desk> for BookFlight {
    type Output = Booking;
    type Error = Rejection;

    async fn execute(self, desk: &Desk, _cx: &Context) -> Result<Booking, Rejection> {
        let wish = Wish { departure: Some(&self.departure), arrival: Some(&self.arrival), date: Some(self.date) };
        // Another call may have booked the seats since the validators ran.
        desk.book(wish, self.passengers)
            .ok_or_else(|| Rejection::of("passengers", "the seats were sold a moment ago").instruct("Try another day."))
    }
}
