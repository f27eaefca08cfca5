//! The tool `book_flights`. One answer has everything that is wrong with a booking.

use tool_runtime::{Rejection, Validation, feedback::Reasons, tool};

use crate::data::{
    Booking, Books, Cabin, Cents, Charge, Customer, Desk, Flight, FlightChoice, MethodKind, Passenger, Payment, Trip,
};
use crate::journeys::Wish;
use crate::{rules, shared};

/// Book flights. Call it even if only some values are known: it returns the missing and the allowed values, and the price.
#[tool(
    title = "Book flights",
    approval = always,
    challenge = "Book flights from {from} to {to} in {cabin} for {customer}?",
    check = not_twice
)]
pub fn book_flights(
    /// The customer's id, or the address of the e-mail.
    #[dynamic(
        validate = |value, known: BookFlightsCustomer<'_>| shared::customer(value, &known.desk.books(), known.call()),
        derives(account: Customer)
    )]
    customer: String,
    /// The city of departure.
    #[dynamic(validate = |value, known: BookFlightsFrom<'_>| shared::city(value, known.desk.books().cities(None)))]
    from: String,
    /// The city of arrival.
    #[dynamic(
        validate = |value, known: BookFlightsTo<'_>| shared::city(value, known.desk.books().cities(Some(known.from))),
        requires(from)
    )]
    to: String,
    /// With or without the way back.
    #[arg(default)]
    trip: Trip,
    /// The flights in their order, with those of the way back.
    #[arg(length(1..=6))]
    #[dynamic(
        validate = flights,
        requires(trip),
        after(from, to),
        hints(cabin, passengers),
        derives(itinerary: Vec<Flight>)
    )]
    flights: Vec<FlightChoice>,
    /// The cabin.
    #[dynamic(validate = cabin, after(flights), hints(passengers))]
    cabin: Cabin,
    /// The passengers.
    #[arg(length(1..=6))]
    #[dynamic(validate = passengers, after(customer))]
    passengers: Vec<Passenger>,
    /// The number of checked bags of all passengers together.
    #[dynamic(validate = bags, requires(customer), after(cabin, passengers))]
    bags: usize,
    /// The number of bags beyond the allowance, which cost 40 euros each.
    #[dynamic(validate = paid_bags, requires(customer, bags), after(cabin, passengers))]
    paid_bags: usize,
    /// An insurance pays the money back after an illness. It costs 25 euros for each passenger.
    #[dynamic(validate = insurance, after(cabin))]
    insurance: bool,
    /// The payments, with at most one voucher, one card and three gift cards.
    #[arg(length(1..=5))]
    #[dynamic(validate = payments, requires(customer), after(flights, cabin, passengers, paid_bags, insurance))]
    payments: Vec<Payment>,
    #[derived] itinerary: Vec<Flight>,
    #[derived] account: Customer,
    #[state] desk: &Desk,
) -> Result<Booking, Rejection> {
    let mut books = desk.books();
    // From here to the end, no other call can book the same, take a seat or spend a gift card.
    twice(&books, &flights, &passengers)?;
    shared::too_late("cabin", books.full_flights(&flights, cabin, passengers.len()))?;
    let account = books.customer(&account.id).cloned().unwrap_or(account);
    shared::too_late("payments", rules::payments(&payments, &account, None))?;
    let booking = Booking {
        code: format!("B{}", 1001 + books.bookings.len()),
        fare: rules::fare(&itinerary, cabin, passengers.len()),
        charges: payments.into_iter().map(|Payment { method, cents }| Charge { method, cents }).collect(),
        booked: books.now,
        cancelled: None,
        is_compensated: false,
        customer,
        trip,
        from,
        to,
        cabin,
        flights,
        passengers,
        bags,
        paid_bags,
        insurance,
    };
    books.move_seats(&booking, -1);
    for charge in &booking.charges {
        books.charge(&account.id, &charge.method, charge.cents);
    }
    books.bookings.push(booking.clone());
    Ok(booking)
}

// It does not require the cities, so that a wrong city hides no wrong flight.
fn flights(
    value: Option<Vec<FlightChoice>>,
    known: BookFlightsFlights<'_>,
) -> Validation<Vec<FlightChoice>, Vec<Flight>> {
    let books = known.desk.books();
    let ways = known.from.accepted().zip(known.to.accepted()).map(|(from, to)| {
        // The cabin and the passengers are validated later. Still, no journey is offered that has too few seats.
        Wish { from, to, trip: *known.trip, cabin: known.cabin.copied(), seats: known.passengers.map_or(1, Vec::len) }
    });
    let offers = || ways.map(|wish| books.offers(wish)).unwrap_or_default();
    let Some(choices) = value else { return Validation::reject("which flights?").suggested(offers()) };
    match books.itinerary(&choices, ways) {
        Ok(flights) => Validation::accept(flights.iter().map(Flight::choice).collect()).derive(flights),
        Err(problems) => Validation::reject(shared::reasons(problems)).suggested(offers()),
    }
}

fn cabin(value: Option<Cabin>, known: BookFlightsCabin<'_>) -> Validation<Cabin> {
    let flights = known.flights.value().map_or(&[][..], Vec::as_slice);
    shared::cabin(value, &known.desk.books(), flights, known.passengers.map_or(1, Vec::len))
}

fn passengers(value: Option<Vec<Passenger>>, known: BookFlightsPassengers<'_>) -> Validation<Vec<Passenger>> {
    let books = known.desk.books();
    match value.map(|list| (rules::passengers(&list, books.now.date()), list)) {
        Some((problems, list)) if problems.is_empty() => Validation::accept(list),
        Some((problems, _)) => Validation::reject(shared::reasons(problems)),
        None => {
            let customer = known.customer.accepted().and_then(|id| books.customer(id));
            let travellers = customer.map_or(&[][..], |customer| &customer.travellers);
            // The customer alone, with one more, and so on.
            Validation::reject("who flies?").suggested((1..=travellers.len()).map(|count| travellers[..count].to_vec()))
        }
    }
}

fn bags(value: Option<usize>, known: BookFlightsBags<'_>) -> Validation<usize> {
    let bags = value.unwrap_or(0);
    let rule = known.cabin.value().zip(known.passengers.value());
    match rule.and_then(|(cabin, list)| rules::bags(bags, list.len(), known.account.membership, *cabin)) {
        Some(problem) => Validation::reject(problem),
        None => Validation::accept(bags),
    }
}

fn paid_bags(value: Option<usize>, known: BookFlightsPaidBags<'_>) -> Validation<usize> {
    let Some(cabin) = known.cabin.value() else { return Validation::reject(Reasons::requires("cabin")) };
    let Some(list) = known.passengers.value() else { return Validation::reject(Reasons::requires("passengers")) };
    let free = rules::free_bags(known.account.membership, *cabin) * list.len();
    shared::paid_bags(value, known.bags.saturating_sub(free), *known.bags)
}

fn insurance(value: Option<bool>, known: BookFlightsInsurance<'_>) -> Validation<bool> {
    match (value.unwrap_or(false), known.cabin.value()) {
        (true, Some(Cabin::Basic)) => Validation::reject("no insurance is offered in basic").allowed([false]),
        (wanted, _) => Validation::accept(wanted),
    }
}

// It does not require what the price depends on, so that a card of somebody else is reported at once.
fn payments(value: Option<Vec<Payment>>, known: BookFlightsPayments<'_>) -> Validation<Vec<Payment>> {
    let price = price(&known);
    let problems = value.as_deref().map(|list| rules::payments(list, known.account, price)).unwrap_or_default();
    match (value, price) {
        _ if !problems.is_empty() => Validation::reject(shared::reasons(problems)),
        (_, None) => Validation::reject(price_waits_for(&known)),
        (Some(list), Some(_)) => Validation::accept(list),
        (None, Some(price)) => {
            let cards = known.account.methods.iter().filter(|method| method.kind == MethodKind::Card);
            Validation::reject(format!("how are the {} paid?", rules::euros(price)))
                .suggested(cards.map(|card| vec![Payment { method: card.id.clone(), cents: price }]))
        }
    }
}

/// Returns the price, as soon as everything is accepted that it depends on.
fn price(known: &BookFlightsPayments<'_>) -> Option<Cents> {
    let flights = known.desk.books().itinerary(known.flights.accepted()?, None).ok()?;
    let (cabin, count) = (*known.cabin.accepted()?, known.passengers.accepted()?.len());
    let insured = if *known.insurance.accepted()? { count } else { 0 };
    let bags = rules::BAG * rules::count(*known.paid_bags.accepted()?);
    Some(rules::fare(&flights, cabin, count) + bags + rules::INSURANCE * rules::count(insured))
}

fn price_waits_for(known: &BookFlightsPayments<'_>) -> Reasons {
    let parts = [
        ("flights", known.flights.accepted().is_none()),
        ("cabin", known.cabin.accepted().is_none()),
        ("passengers", known.passengers.accepted().is_none()),
        ("paid_bags", known.paid_bags.accepted().is_none()),
        ("insurance", known.insurance.accepted().is_none()),
    ];
    let waits = parts.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| Reasons::requires(name));
    waits.reduce(Reasons::and).unwrap_or_else(|| Reasons::problem("the price is not known"))
}

fn not_twice(input: &book_flights, known: BookFlightsCheck<'_>) -> Result<(), Rejection> {
    twice(&known.desk.books(), &input.flights, &input.passengers)
}

/// Rejects a passenger who sits in the same plane already. So a model that repeats a call books nothing twice.
fn twice(books: &Books, flights: &[FlightChoice], passengers: &[Passenger]) -> Result<(), Rejection> {
    let other = books.bookings.iter().find(|booking| {
        booking.cancelled.is_none()
            && booking.flights.iter().any(|flight| flights.contains(flight))
            && booking.passengers.iter().any(|passenger| passengers.contains(passenger))
    });
    other.map_or(Ok(()), |other| {
        let problem = format!("{} has one of these passengers on one of these flights", other.code);
        Err(Rejection::from_message(problem))
    })
}
