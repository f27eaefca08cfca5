//! Rules about journeys: which flights exist, fit together and have free seats.

use chrono::TimeDelta;

use crate::data::{Booking, Books, Cabin, Flight, FlightChoice, Status, Trip};

/// The time between two flights that a passenger needs.
const CHANGE_OF_PLANES: TimeDelta = TimeDelta::minutes(45);
/// The maximum number of journeys that an answer offers.
const MAX_OFFERED: usize = 4;

/// The known parts of a journey that somebody looks for.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub trip: Trip,
    /// The cabin, or any if it is not known yet.
    pub cabin: Option<Cabin>,
    pub seats: usize,
}

impl Books {
    /// Returns whether a flight can be booked now.
    fn is_open(&self, flight: &Flight, cabin: Option<Cabin>, seats: usize) -> bool {
        let fits = |one: &Cabin| flight.seats(*one) >= seats;
        flight.leaves > self.now
            && flight.status != Status::Cancelled
            && cabin.map_or_else(|| Cabin::ALL.iter().any(fits), |one| fits(&one))
    }

    /// Returns the journeys that fit a wish, the shortest first: each way is one flight, or two.
    pub fn journeys(&self, wish: Wish<'_>) -> Vec<Vec<Flight>> {
        let mut found = self.ways(wish, wish.from, wish.to);
        if wish.trip == Trip::RoundTrip {
            let back = self.ways(wish, wish.to, wish.from);
            let both = |out: &Vec<Flight>| {
                let back = back.iter().filter(|back| fits_after(out.last(), &back[0]));
                back.map(|back| [&out[..], back].concat()).collect::<Vec<_>>()
            };
            found = found.iter().flat_map(both).collect();
        }
        found.sort_by_key(Vec::len);
        found
    }

    fn ways(&self, wish: Wish<'_>, from: &str, to: &str) -> Vec<Vec<Flight>> {
        let open = || self.flights.iter().filter(|flight| self.is_open(flight, wish.cabin, wish.seats));
        let mut found = Vec::new();
        for first in open().filter(|flight| flight.from == from) {
            if first.to == to {
                found.push(vec![first.clone()]);
                continue;
            }
            let second = open().filter(|flight| flight.to == to && first.to == flight.from);
            let soon = second.filter(|flight| flight.leaves - first.lands < TimeDelta::hours(24));
            found.extend(
                soon.filter(|flight| fits_after(Some(first), flight)).map(|second| vec![first.clone(), second.clone()]),
            );
        }
        found
    }

    /// Returns some journeys in the form in which a call names them.
    pub fn offers(&self, wish: Wish<'_>) -> Vec<Vec<FlightChoice>> {
        let journeys = self.journeys(wish).into_iter().take(MAX_OFFERED);
        journeys.map(|flights| flights.iter().map(Flight::choice).collect()).collect()
    }

    /// Returns the cities from which the wish's other end can be reached, or, without one, all cities with a flight.
    pub fn cities(&self, from: Option<&str>) -> Vec<String> {
        let open = self.flights.iter().filter(|flight| self.is_open(flight, None, 1));
        let mut cities: Vec<String> = match from {
            None => open.map(|flight| flight.from.clone()).collect(),
            Some(from) => {
                let all = self.flights.iter().map(|flight| &flight.to).filter(|to| *to != from);
                let wish = |to| Wish { from, to, trip: Trip::OneWay, cabin: None, seats: 1 };
                all.filter(|to| !self.ways(wish(to), from, to).is_empty()).cloned().collect()
            }
        };
        cities.sort();
        cities.dedup();
        cities
    }

    /// Returns the flights that somebody chose, or every problem with one of them, with their order and, if the cities are known,
    /// with their ends.
    pub fn itinerary(&self, choices: &[FlightChoice], wish: Option<Wish<'_>>) -> Result<Vec<Flight>, Vec<String>> {
        let (mut flights, mut problems) = (Vec::<Flight>::new(), Vec::new());
        for (at, choice) in choices.iter().enumerate() {
            match self.choose(choice) {
                Ok(flight) => {
                    if let Some(before) = flights.last().filter(|before| !fits_after(Some(before), flight)) {
                        problems.push(format!(
                            "flights[{at}]: {} leaves {} at {}, and {} lands in {} at {}: a change needs one city and 45 minutes",
                            flight.number, flight.from, flight.leaves, before.number, before.to, before.lands
                        ));
                    }
                    flights.push(flight.clone());
                }
                Err(problem) => problems.push(format!("flights[{at}]: {problem}")),
            }
        }
        if problems.is_empty() {
            problems = wish.map(|wish| ends(&flights, wish)).unwrap_or_default();
        }
        if problems.is_empty() { Ok(flights) } else { Err(problems) }
    }

    /// Returns the flight of one choice, or the reason why nobody can book it.
    fn choose(&self, choice: &FlightChoice) -> Result<&Flight, String> {
        let FlightChoice { number, date } = choice;
        let Some(flight) = self.flight(choice) else {
            let same = self.flights.iter().filter(|flight| flight.number.eq_ignore_ascii_case(number));
            let days: Vec<String> = same.map(|flight| flight.date().to_string()).collect();
            let other = if days.is_empty() { String::new() } else { format!("; it flies on {}", days.join(", ")) };
            return Err(format!("there is no {number} on {date}{other}"));
        };
        if flight.leaves <= self.now {
            Err(format!("{} left at {}, and it is {}", flight.number, flight.leaves, self.now))
        } else if flight.status == Status::Cancelled {
            Err(format!("{} on {date} is cancelled", flight.number))
        } else {
            Ok(flight)
        }
    }

    /// Returns the flights that have fewer free seats in a cabin than needed, as texts. Validators offer other cabins. The tool asks
    /// again under its lock, because another call may have taken a seat in between.
    pub fn full_flights(&self, choices: &[FlightChoice], cabin: Cabin, seats: usize) -> Vec<String> {
        let flights = self.known_flights(choices).into_iter().filter(|flight| flight.seats(cabin) < seats);
        flights
            .map(|flight| format!("{} has {} free seats in {cabin}, not {seats}", flight.number, flight.seats(cabin)))
            .collect()
    }

    /// Returns the reason why a booking can no longer be changed, if there is one.
    pub fn closed(&self, booking: &Booking) -> Option<String> {
        let left = self.known_flights(&booking.flights).into_iter().find(|flight| flight.leaves <= self.now);
        match (booking.cancelled, left) {
            (Some(_), _) => Some(format!("{} is cancelled", booking.code)),
            (None, Some(flight)) => Some(format!("{} left at {}", flight.number, flight.leaves)),
            (None, None) => None,
        }
    }

    /// Returns whether a flight of a booking has this status.
    pub fn has_status(&self, booking: &Booking, status: Status) -> bool {
        self.known_flights(&booking.flights).into_iter().any(|flight| flight.status == status)
    }

    /// Returns the cabins that have enough seats on all flights.
    pub fn free_cabins(&self, choices: &[FlightChoice], seats: usize) -> Vec<Cabin> {
        Cabin::ALL.into_iter().filter(|cabin| self.full_flights(choices, *cabin, seats).is_empty()).collect()
    }
}

/// Returns the problems with the ends of an itinerary.
fn ends(flights: &[Flight], wish: Wish<'_>) -> Vec<String> {
    let (Some(first), Some(last)) = (flights.first(), flights.last()) else { return Vec::new() };
    let end = if wish.trip == Trip::RoundTrip { wish.from } else { wish.to };
    let mut problems = Vec::new();
    if first.from != wish.from {
        problems.push(format!("flights[0]: {} leaves {}, not {}", first.number, first.from, wish.from));
    }
    if last.to != end {
        problems.push(format!("flights[{}]: {} lands in {}, not {end}", flights.len() - 1, last.number, last.to));
    }
    if wish.trip == Trip::RoundTrip && !flights.iter().any(|flight| flight.to == wish.to) {
        problems.push(format!("no flight lands in {}", wish.to));
    }
    problems
}

/// Returns whether a passenger of the flight `before` can take `flight`.
fn fits_after(before: Option<&Flight>, flight: &Flight) -> bool {
    before.is_none_or(|before| before.to == flight.from && flight.leaves - before.lands >= CHANGE_OF_PLANES)
}
