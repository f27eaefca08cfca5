//! The data of the desk: flights, customers and bookings, behind one lock.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{NaiveDate, NaiveDateTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of money, in cents.
pub type Cents = i64;

/// A class of seats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cabin {
    Basic,
    Economy,
    Business,
}

impl Cabin {
    pub const ALL: [Self; 3] = [Self::Basic, Self::Economy, Self::Business];
}

impl fmt::Display for Cabin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}

/// The punctuality of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    OnTime,
    Delayed,
    Cancelled,
}

/// A flight on one day. Times are in UTC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flight {
    pub number: String,
    pub from: String,
    pub to: String,
    pub leaves: NaiveDateTime,
    pub lands: NaiveDateTime,
    pub status: Status,
    /// The cabins that the plane has.
    pub fares: Vec<Fare>,
}

/// A cabin of a flight, with its free seats and the price of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fare {
    pub cabin: Cabin,
    pub seats: usize,
    pub cents: Cents,
}

impl Flight {
    pub fn date(&self) -> NaiveDate {
        self.leaves.date()
    }

    pub fn choice(&self) -> FlightChoice {
        FlightChoice { number: self.number.clone(), date: self.date() }
    }

    pub fn seats(&self, cabin: Cabin) -> usize {
        self.fares.iter().find(|fare| fare.cabin == cabin).map_or(0, |fare| fare.seats)
    }
}

/// A flight that somebody chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlightChoice {
    /// The number, such as TA110.
    pub number: String,
    /// The day on which it leaves.
    pub date: NaiveDate,
}

/// A person who flies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passenger {
    /// As in the passport.
    #[schemars(length(min = 1, max = 60))]
    pub first_name: String,
    /// As in the passport.
    #[schemars(length(min = 1, max = 60))]
    pub last_name: String,
    /// The day of birth.
    pub born: NaiveDate,
}

impl fmt::Display for Passenger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.first_name, self.last_name)
    }
}

/// A part of the price, and the method that pays it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Payment {
    /// The id of one of the customer's methods of payment.
    pub method: String,
    /// The amount in cents.
    #[schemars(range(min = 1, max = 5_000_000))]
    pub cents: Cents,
}

/// Money that a customer paid or, if negative, got back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Charge {
    pub method: String,
    pub cents: Cents,
}

/// A level of membership.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    Regular,
    Silver,
    Gold,
}

impl fmt::Display for Membership {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}

/// A customer of the airline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Customer {
    pub id: String,
    pub email: String,
    pub membership: Membership,
    /// The persons for whom the customer has booked before.
    pub travellers: Vec<Passenger>,
    pub methods: Vec<Method>,
}

/// A method of payment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    pub id: String,
    pub kind: MethodKind,
    /// The money that is left; a card has no such limit.
    pub cents: Option<Cents>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MethodKind {
    Card,
    GiftCard,
    /// It pays for one booking. What is left of it is lost.
    Voucher,
}

/// The form of a journey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trip {
    #[default]
    OneWay,
    RoundTrip,
}

/// The reason of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The customer changed the plans.
    Plans,
    /// The airline cancelled a flight.
    Airline,
    /// A passenger is ill.
    Illness,
}

/// A booking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Booking {
    pub code: String,
    pub customer: String,
    pub trip: Trip,
    pub from: String,
    pub to: String,
    pub cabin: Cabin,
    pub flights: Vec<FlightChoice>,
    pub passengers: Vec<Passenger>,
    pub bags: usize,
    pub paid_bags: usize,
    pub insurance: bool,
    /// The part of the price that is for the seats.
    pub fare: Cents,
    pub charges: Vec<Charge>,
    pub booked: NaiveDateTime,
    /// The reason, if it is cancelled.
    pub cancelled: Option<Reason>,
    pub is_compensated: bool,
}

/// All data of the desk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Books {
    /// The desk's own clock, so that each conversation and each test finds the same flights.
    pub now: NaiveDateTime,
    pub flights: Vec<Flight>,
    pub customers: Vec<Customer>,
    pub bookings: Vec<Booking>,
}

impl Books {
    pub fn flight(&self, choice: &FlightChoice) -> Option<&Flight> {
        self.flights
            .iter()
            .find(|flight| flight.number.eq_ignore_ascii_case(choice.number.trim()) && flight.date() == choice.date)
    }

    /// Returns the flights of `choices` that exist.
    pub fn known_flights(&self, choices: &[FlightChoice]) -> Vec<&Flight> {
        choices.iter().filter_map(|choice| self.flight(choice)).collect()
    }

    pub fn customer(&self, id: &str) -> Option<&Customer> {
        self.customers.iter().find(|customer| customer.id == id)
    }

    pub fn booking(&self, code: &str) -> Option<&Booking> {
        self.bookings.iter().find(|booking| booking.code == code)
    }

    pub fn booking_mut(&mut self, code: &str) -> Option<&mut Booking> {
        self.bookings.iter_mut().find(|booking| booking.code == code)
    }

    /// Takes the seats of a booking, or gives them back if `sign` is positive.
    pub fn move_seats(&mut self, booking: &Booking, sign: isize) {
        let change = sign * isize::try_from(booking.passengers.len()).unwrap_or(0);
        for flight in self.flights.iter_mut().filter(|flight| booking.flights.contains(&flight.choice())) {
            for fare in flight.fares.iter_mut().filter(|fare| fare.cabin == booking.cabin) {
                fare.seats = fare.seats.saturating_add_signed(change);
            }
        }
    }

    /// Takes money from a method of a customer, or gives it back if `cents` is negative.
    pub fn charge(&mut self, customer: &str, method: &str, cents: Cents) {
        let customer = self.customers.iter_mut().find(|known| known.id == customer);
        let method = customer.and_then(|customer| customer.methods.iter_mut().find(|known| known.id == method));
        let Some(Method { kind, cents: Some(left), .. }) = method else { return };
        *left = if *kind == MethodKind::Voucher { 0 } else { *left - cents };
    }
}

/// The desk. Its tools and validators share it.
#[derive(Debug)]
pub struct Desk {
    books: Mutex<Books>,
}

impl Desk {
    /// Opens a desk with the data of this package.
    pub fn open() -> serde_json::Result<Self> {
        Ok(Self { books: Mutex::new(serde_json::from_str(include_str!("data.json"))?) })
    }

    /// Locks the data. A tool checks and changes it under one lock, because another call may run at the same time.
    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
