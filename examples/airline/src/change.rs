//! Tools that change a booking: `change_flights`, `add_bags`, `change_passengers`.

use tool_runtime::{Rejection, Validation, tool};

use crate::data::{Booking, Books, Cabin, Cents, Charge, Desk, Flight, FlightChoice, Passenger};
use crate::journeys::Wish;
use crate::{rules, shared};

/// Change the flights or the cabin of a booking. The seats are paid at the prices of today. Basic cannot be changed.
#[tool(
    title = "Change flights",
    approval = always,
    challenge = "Change the flights of {booking}, in {cabin}, with {method}?"
)]
pub fn change_flights(
    /// The code of the booking.
    #[dynamic(
        validate = |value, known: ChangeFlightsBooking<'_>| {
            let books = known.desk.books();
            shared::booking(value, &books, known.call(), |booking| unchangeable(&books, booking))
        },
        derives(before: Booking)
    )]
    booking: String,
    /// All flights in their order, those that stay included.
    #[arg(length(1..=6))]
    #[dynamic(validate = flights, requires(booking), hints(cabin), derives(itinerary: Vec<Flight>))]
    flights: Vec<FlightChoice>,
    /// The cabin of all flights, as before if it is left out.
    #[dynamic(validate = cabin, requires(booking), after(flights))]
    cabin: Cabin,
    /// The card or gift card that pays the difference, or receives it.
    #[dynamic(validate = method, requires(booking, flights, cabin))]
    method: String,
    #[derived] before: Booking,
    #[derived] itinerary: Vec<Flight>,
    #[state] desk: &Desk,
) -> Result<Booking, Rejection> {
    let mut books = desk.books();
    let count = before.passengers.len();
    let mut free = without(&books, &before);
    shared::too_late("booking", shared::changed(&books, &before))?;
    shared::too_late("cabin", free.full_flights(&flights, cabin, count))?;
    let fare = rules::fare(&itinerary, cabin, count);
    let due = fare - before.fare;
    shared::too_late("method", shared::unpaid(&books, &before, &method, due))?;
    let after = Booking { code: booking, cabin, flights, fare, ..before };
    free.move_seats(&after, -1);
    *books = free;
    Ok(settle(&mut books, after, method, due))
}

fn flights(
    value: Option<Vec<FlightChoice>>,
    known: ChangeFlightsFlights<'_>,
) -> Validation<Vec<FlightChoice>, Vec<Flight>> {
    let before = known.before;
    let books = without(&known.desk.books(), before);
    let cabin = Some(known.cabin.copied().unwrap_or(before.cabin));
    let wish = Wish { from: &before.from, to: &before.to, trip: before.trip, cabin, seats: before.passengers.len() };
    let offers = || books.offers(wish);
    let Some(choices) = value else { return Validation::reject("which flights?").suggested(offers()) };
    match books.itinerary(&choices, Some(wish)) {
        Ok(flights) => Validation::accept(flights.iter().map(Flight::choice).collect()).derive(flights),
        Err(problems) => Validation::reject(shared::reasons(problems)).suggested(offers()),
    }
}

fn cabin(value: Option<Cabin>, known: ChangeFlightsCabin<'_>) -> Validation<Cabin> {
    let flights = known.flights.value().map_or(&[][..], Vec::as_slice);
    let books = without(&known.desk.books(), known.before);
    shared::cabin(value.or(Some(known.before.cabin)), &books, flights, known.before.passengers.len())
}

fn method(value: Option<String>, known: ChangeFlightsMethod<'_>) -> Validation<String> {
    let due = rules::fare(known.itinerary, *known.cabin, known.before.passengers.len()) - known.before.fare;
    shared::method(value, &known.desk.books(), known.before, due)
}

/// Add checked bags to a booking. A bag cannot be taken off.
#[tool(
    title = "Add bags",
    idempotent,
    approval = always,
    challenge = "Change {booking} to {bags} bags, {paid_bags} of them paid, with {method}?"
)]
pub fn add_bags(
    /// The code of the booking.
    #[dynamic(
        validate = |value, known: AddBagsBooking<'_>| {
            let books = known.desk.books();
            shared::booking(value, &books, known.call(), |booking| books.closed(booking))
        },
        derives(before: Booking)
    )]
    booking: String,
    /// The number of bags of all passengers, those of before included.
    #[dynamic(validate = bags, requires(booking))]
    bags: usize,
    /// The number of bags beyond the allowance, which cost 40 euros each.
    #[dynamic(validate = paid_bags, requires(booking, bags))]
    paid_bags: usize,
    /// The card or gift card that pays.
    #[dynamic(validate = bags_method, requires(booking, paid_bags))]
    method: String,
    #[derived] before: Booking,
    #[state] desk: &Desk,
) -> Result<Booking, Rejection> {
    let mut books = desk.books();
    let due = bags_due(&before, paid_bags);
    shared::too_late("booking", shared::changed(&books, &before))?;
    shared::too_late("method", shared::unpaid(&books, &before, &method, due))?;
    let after = Booking { code: booking, bags, paid_bags, ..before };
    Ok(settle(&mut books, after, method, due))
}

fn bags(value: Option<usize>, known: AddBagsBags<'_>) -> Validation<usize> {
    let (books, before) = (known.desk.books(), known.before);
    let Some(bags) = value else {
        return Validation::reject(format!("how many bags? {} has {}", before.code, before.bags));
    };
    if bags < before.bags {
        return Validation::reject(format!("{} has {} bags, and none can be taken off", before.code, before.bags));
    }
    let customer = books.customer(&before.customer);
    match customer.and_then(|customer| rules::bags(bags, before.passengers.len(), customer.membership, before.cabin)) {
        Some(problem) => Validation::reject(problem),
        None => Validation::accept(bags),
    }
}

fn paid_bags(value: Option<usize>, known: AddBagsPaidBags<'_>) -> Validation<usize> {
    let (books, before) = (known.desk.books(), known.before);
    let free =
        books.customer(&before.customer).map_or(0, |customer| rules::free_bags(customer.membership, before.cabin));
    // What was paid for stays paid, even if the allowance is larger now.
    let over = known.bags.saturating_sub(free * before.passengers.len()).max(before.paid_bags);
    shared::paid_bags(value, over, *known.bags)
}

fn bags_method(value: Option<String>, known: AddBagsMethod<'_>) -> Validation<String> {
    shared::method(value, &known.desk.books(), known.before, bags_due(known.before, *known.paid_bags))
}

fn bags_due(before: &Booking, paid_bags: usize) -> Cents {
    rules::BAG * rules::count(paid_bags.saturating_sub(before.paid_bags))
}

/// Correct the passengers of a booking: names and days of birth, but not their number.
#[tool(title = "Change passengers", idempotent)]
pub fn change_passengers(
    /// The code of the booking.
    #[dynamic(
        validate = |value, known: ChangePassengersBooking<'_>| {
            let books = known.desk.books();
            shared::booking(value, &books, known.call(), |booking| books.closed(booking))
        },
        derives(before: Booking)
    )]
    booking: String,
    /// Everybody who flies, in the order of before.
    #[arg(length(1..=6))]
    #[dynamic(validate = passengers, requires(booking))]
    passengers: Vec<Passenger>,
    #[derived] before: Booking,
    #[state] desk: &Desk,
) -> Result<Booking, Rejection> {
    let mut books = desk.books();
    shared::too_late("booking", shared::changed(&books, &before))?;
    let after = Booking { code: booking, passengers, ..before };
    Ok(settle(&mut books, after, String::new(), 0))
}

fn passengers(value: Option<Vec<Passenger>>, known: ChangePassengersPassengers<'_>) -> Validation<Vec<Passenger>> {
    let before = &known.before.passengers;
    let Some(list) = value else { return Validation::reject("who flies?").suggested([before]) };
    let mut problems = rules::passengers(&list, known.desk.books().now.date());
    if list.len() != before.len() {
        problems.push(format!("{} is for {} passengers, not {}", known.before.code, before.len(), list.len()));
    }
    if problems.is_empty() { Validation::accept(list) } else { Validation::reject(shared::reasons(problems)) }
}

/// Returns the reason why the flights of a booking cannot be changed, if there is one.
fn unchangeable(books: &Books, booking: &Booking) -> Option<String> {
    let is_basic = booking.cabin == Cabin::Basic;
    books.closed(booking).or_else(|| is_basic.then(|| format!("{} is in basic, which cannot be changed", booking.code)))
}

/// Returns the data as if a booking had no seats, so that its own seats count as free.
fn without(books: &Books, booking: &Booking) -> Books {
    let mut books = books.clone();
    books.move_seats(booking, 1);
    books
}

/// Takes the money that is due, and stores the changed booking.
fn settle(books: &mut Books, mut after: Booking, method: String, due: Cents) -> Booking {
    if due != 0 {
        books.charge(&after.customer, &method, due);
        after.charges.push(Charge { method, cents: due });
    }
    books.bookings.iter_mut().filter(|booking| booking.code == after.code).for_each(|booking| *booking = after.clone());
    after
}
