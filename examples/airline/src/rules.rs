//! Rules about people, bags and money. Each returns its problems as texts, which name the element of a list: `passengers[1]`.

use chrono::NaiveDate;

use crate::data::{Cabin, Cents, Customer, Flight, Membership, Method, MethodKind, Passenger, Payment};

/// The price of a bag that is not free.
pub const BAG: Cents = 4_000;
/// The price of an insurance, for one passenger.
pub const INSURANCE: Cents = 2_500;
/// The maximum number of bags of one passenger that are not free.
const MAX_PAID_BAGS: usize = 2;
const ADULT: u32 = 16;

/// Writes an amount for people.
pub fn euros(cents: Cents) -> String {
    format!("{}{}.{:02} euros", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100)
}

/// Returns the price of seats.
pub fn fare(flights: &[Flight], cabin: Cabin, passengers: usize) -> Cents {
    let seat = flights.iter().flat_map(|flight| &flight.fares).filter(|fare| fare.cabin == cabin);
    seat.map(|fare| fare.cents).sum::<Cents>() * count(passengers)
}

/// Returns a count as a factor of a price.
pub fn count(items: usize) -> Cents {
    Cents::try_from(items).unwrap_or(Cents::MAX)
}

/// Returns the number of bags of one passenger that are free.
pub fn free_bags(membership: Membership, cabin: Cabin) -> usize {
    let by_cabin = match cabin {
        Cabin::Basic => 0,
        Cabin::Economy => 1,
        Cabin::Business => 2,
    };
    by_cabin
        + match membership {
            Membership::Regular => 0,
            Membership::Silver => 1,
            Membership::Gold => 2,
        }
}

/// Returns the problem with a number of bags.
pub fn bags(bags: usize, passengers: usize, membership: Membership, cabin: Cabin) -> Option<String> {
    let free = free_bags(membership, cabin);
    let most = (free + MAX_PAID_BAGS) * passengers;
    (bags > most).then(|| {
        format!(
            "at most {most} bags, not {bags}: in {cabin}, a passenger of a {membership} customer has {free} for free and may \
             pay for {MAX_PAID_BAGS}"
        )
    })
}

/// Returns the problems of a list of passengers.
pub fn passengers(passengers: &[Passenger], today: NaiveDate) -> Vec<String> {
    let mut problems: Vec<String> = Vec::new();
    for (at, passenger) in passengers.iter().enumerate() {
        if passengers[..at].contains(passenger) {
            problems.push(format!("passengers[{at}]: {passenger} is on the list already"));
        }
        if passenger.born > today {
            problems.push(format!("passengers[{at}]: {passenger} is born on {}, and today is {today}", passenger.born));
        }
    }
    let is_adult = |passenger: &Passenger| today.years_since(passenger.born).is_some_and(|years| years >= ADULT);
    if !passengers.is_empty() && !passengers.iter().any(is_adult) {
        problems.push(format!("nobody is {ADULT} years old or older; children do not fly alone"));
    }
    problems
}

/// Returns the problems of payments by a customer, and of their sum if the price is known.
pub fn payments(payments: &[Payment], customer: &Customer, price: Option<Cents>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut kinds = Vec::new();
    for (at, payment) in payments.iter().enumerate() {
        match method(customer, &payment.method, payment.cents) {
            Ok(method) => kinds.push(method.kind),
            Err(problem) => problems.push(format!("payments[{at}]: {problem}")),
        }
        if payments[..at].iter().any(|other| other.method == payment.method) {
            problems.push(format!("payments[{at}]: {} pays already", payment.method));
        }
    }
    for (kind, most, name) in
        [(MethodKind::Voucher, 1, "vouchers"), (MethodKind::Card, 1, "cards"), (MethodKind::GiftCard, 3, "gift cards")]
    {
        let given = kinds.iter().filter(|given| **given == kind).count();
        if given > most {
            problems.push(format!("{given} {name} pay, and at most {most} may"));
        }
    }
    let sum = payments.iter().map(|payment| payment.cents).sum();
    if let Some(price) = price.filter(|price| *price != sum) {
        problems.push(format!("the payments are {}, and the price is {}", euros(sum), euros(price)));
    }
    problems
}

/// Returns the customer's method of payment with this id, or the reason why it cannot pay.
pub fn method<'c>(customer: &'c Customer, id: &str, cents: Cents) -> Result<&'c Method, String> {
    let Some(method) = customer.methods.iter().find(|method| method.id == id) else {
        let known: Vec<&str> = customer.methods.iter().map(|method| method.id.as_str()).collect();
        return Err(format!("{} has no method {id}, only {}", customer.id, known.join(", ")));
    };
    match method.cents.filter(|left| *left < cents) {
        Some(left) => Err(format!("{id} has {} left, not {}", euros(left), euros(cents))),
        None => Ok(method),
    }
}
