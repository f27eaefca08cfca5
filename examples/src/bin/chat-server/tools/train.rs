//! The tool for train tickets, with dynamic parameters.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{Rejection, Validation, tool};

/// Trains, and the seats that are left.
pub(crate) struct Trains(Mutex<Vec<Train>>);

#[derive(Clone)]
struct Train {
    from: &'static str,
    to: &'static str,
    seats: u32,
    /// The price of one seat, in euros.
    price: u32,
}

impl Default for Trains {
    fn default() -> Self {
        let train = |(from, to, seats, price)| Train { from, to, seats, price };
        let all = [
            ("Berlin", "Prague", 40, 35),
            ("Berlin", "Vienna", 3, 60),
            ("Vienna", "Rome", 12, 85),
            ("Vienna", "Prague", 25, 30),
            ("Rome", "Naples", 2, 20),
        ];
        Self(Mutex::new(all.map(train).into()))
    }
}

impl Trains {
    fn all(&self) -> MutexGuard<'_, Vec<Train>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the distinct cities that `city` selects from trains with free seats.
    fn cities(&self, city: impl Fn(&Train) -> Option<&'static str>) -> Vec<String> {
        let mut found = Vec::new();
        for city in self.all().iter().filter(|train| train.seats > 0).filter_map(city) {
            if !found.iter().any(|known| known == city) {
                found.push(city.to_owned());
            }
        }
        found
    }
}

/// A ticket.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ticket {
    from: String,
    to: String,
    seats: u32,
    /// The price of all seats, in euros.
    total: u32,
}

/// Book a train. Call it with what is known: it tells what is missing, and what there is to choose from.
#[tool(title = "Book a train", approval = always, challenge = "Book {seats} seat(s) from {from} to {to}?")]
pub(crate) fn book_train(
    /// The city of departure.
    #[dynamic(validate = check_from)]
    from: String,
    /// The city of arrival.
    #[dynamic(validate = check_to, requires(from))]
    to: String,
    /// The number of travellers.
    #[arg(range(1..=9))]
    #[dynamic(validate = check_seats, requires(from, to))]
    seats: u32,
    #[state] trains: &Trains,
) -> Result<Ticket, Rejection> {
    let mut all = trains.all();
    let train = all.iter_mut().find(|train| train.from == from && train.to == to && train.seats >= seats);
    // Another call may have booked the seats since the validators ran.
    let train = train.ok_or_else(|| Rejection::of("seats", "they were sold a moment ago"))?;
    train.seats -= seats;
    let total = train.price * seats;
    Ok(Ticket { from, to, seats, total })
}

fn check_from(value: Option<String>, known: BookTrainFrom<'_>) -> Validation<String> {
    accept_one_of(value, known.trains.cities(|train| Some(train.from)))
}

fn check_to(value: Option<String>, known: BookTrainTo<'_>) -> Validation<String> {
    accept_one_of(value, known.trains.cities(|train| (train.from == known.from).then_some(train.to)))
}

/// Accepts a city of `cities`, ignoring case.
fn accept_one_of(value: Option<String>, cities: Vec<String>) -> Validation<String> {
    let Some(value) = value else { return Validation::reject("which city?").allowed(cities) };
    match cities.iter().find(|city| city.eq_ignore_ascii_case(value.trim())) {
        Some(city) => Validation::accept(city.clone()),
        None => Validation::reject(format!("no train for {value}")).allowed(cities),
    }
}

fn check_seats(value: Option<u32>, known: BookTrainSeats<'_>) -> Validation<u32> {
    let trains = known.trains.all();
    let left = trains.iter().filter(|train| train.from == known.from && train.to == known.to).map(|train| train.seats);
    let most = left.max().unwrap_or(0);
    match value {
        None => Validation::reject("how many people travel?").allowed(1..=most.min(9)),
        Some(seats) if seats > most => Validation::reject(format!("only {most} seats are left")).allowed(1..=most),
        Some(seats) => Validation::accept(seats),
    }
}
