//! Validators of parameters that several tools have. Each takes what it needs as arguments, and a tool passes that on.

use tool_runtime::{
    Context, Rejection, Validation,
    feedback::{Reasons, Report},
};

use crate::data::{Booking, Books, Cabin, Cents, Customer, FlightChoice, MethodKind};
use crate::rules;

/// Returns all problems as the reasons of one rejection.
pub fn reasons(problems: Vec<String>) -> Reasons {
    let mut problems = problems.into_iter();
    let first = Reasons::problem(problems.next().unwrap_or_default());
    problems.fold(first, Reasons::and_problem)
}

/// Turns problems that came up when a tool ran into a rejection of the call.
pub fn too_late(parameter: &str, problems: Vec<String>) -> Result<(), Rejection> {
    if problems.is_empty() {
        return Ok(());
    }
    let problems = problems.into_iter().map(|problem| format!("{problem}, since another call was faster"));
    Err(Rejection::of(parameter, Report::rejected(reasons(problems.collect()))))
}

/// Accepts one of `cities`, in upper or lower case.
pub fn city(value: Option<String>, cities: Vec<String>) -> Validation<String> {
    let Some(value) = value else { return Validation::reject("which city?").allowed(cities) };
    match cities.iter().find(|city| city.eq_ignore_ascii_case(value.trim())) {
        Some(city) => Validation::accept(city.clone()),
        None => Validation::reject(format!("{value} has no flight with free seats")).allowed(cities),
    }
}

/// Accepts the id or the address of a customer. A principal is that customer, and nobody else.
pub fn customer(value: Option<String>, books: &Books, cx: &Context) -> Validation<String, Customer> {
    let Some(value) = value.or_else(|| cx.principal().map(str::to_owned)) else {
        return Validation::reject("which customer? Ask for the id or the address");
    };
    let found = books.customers.iter().find(|customer| customer.id == value || customer.email == value);
    match found.filter(|customer| cx.principal().is_none_or(|principal| principal == customer.id)) {
        Some(customer) => Validation::accept(customer.id.clone()).derive(customer.clone()),
        None => Validation::reject(format!("no customer {value}")),
    }
}

/// Accepts the code of a booking that the caller may see, and to which the tool has no objection. Only to a principal, who owns
/// them, the answer lists bookings.
pub fn booking(
    value: Option<String>,
    books: &Books,
    cx: &Context,
    objection: impl FnOnce(&Booking) -> Option<String>,
) -> Validation<String, Booking> {
    let may_see = |booking: &&Booking| cx.principal().is_none_or(|principal| principal == booking.customer);
    let mut visible = books.bookings.iter().filter(may_see);
    let found = value.as_ref().map(|code| visible.find(|booking| booking.code.eq_ignore_ascii_case(code.trim())));
    let rejected = match found {
        Some(Some(booking)) => match objection(booking) {
            None => return Validation::accept(booking.code.clone()).derive(booking.clone()),
            Some(problem) => return Validation::reject(problem),
        },
        Some(None) => Validation::reject(format!("no booking {}", value.unwrap_or_default())),
        None => Validation::reject("which booking?"),
    };
    match cx.principal() {
        Some(_) => rejected.allowed(books.bookings.iter().filter(may_see).map(|booking| booking.code.clone())),
        None => rejected,
    }
}

/// Accepts a cabin that has enough seats on all flights that exist.
pub fn cabin(value: Option<Cabin>, books: &Books, flights: &[FlightChoice], seats: usize) -> Validation<Cabin> {
    let free = books.free_cabins(flights, seats);
    match value {
        None => Validation::reject("which cabin?").allowed(free),
        Some(cabin) => match books.full_flights(flights, cabin, seats) {
            full if full.is_empty() => Validation::accept(cabin),
            full if free.is_empty() => {
                Validation::reject(reasons(full)).allowed(free).instruct("Choose other flights.")
            }
            full => Validation::reject(reasons(full)).allowed(free),
        },
    }
}

/// Accepts the number of paid bags that the allowance leaves, and supplies it if the call has none.
pub fn paid_bags(value: Option<usize>, over: usize, bags: usize) -> Validation<usize> {
    match value {
        Some(paid) if paid != over => {
            Validation::reject(format!("{over} of {bags} bags are not free, and {paid} are paid")).allowed([over])
        }
        _ => Validation::accept(over),
    }
}

/// Accepts a card or a gift card of a booking's customer that covers what is due, or receives it if it is negative.
pub fn method(value: Option<String>, books: &Books, booking: &Booking, due: Cents) -> Validation<String> {
    let problem = |id: &str| unpaid(books, booking, id, due).pop();
    let all = books.customer(&booking.customer).map_or(&[][..], |customer| &customer.methods);
    let possible = all.iter().map(|method| method.id.clone()).filter(|id| problem(id).is_none());
    match value {
        Some(id) => match problem(&id) {
            None => Validation::accept(id),
            Some(problem) => Validation::reject(problem).allowed(possible),
        },
        None => Validation::reject(format!("which method? {} are due", rules::euros(due))).allowed(possible),
    }
}

/// Returns a problem if a method does not cover what is due for a booking.
pub fn unpaid(books: &Books, booking: &Booking, method: &str, due: Cents) -> Vec<String> {
    let Some(customer) = books.customer(&booking.customer) else { return vec!["its customer is gone".to_owned()] };
    match rules::method(customer, method, due) {
        Ok(method) if method.kind == MethodKind::Voucher => vec!["a voucher pays only for a new booking".to_owned()],
        Ok(_) => Vec::new(),
        Err(problem) => vec![problem],
    }
}

/// Returns a problem if a booking is not as the validators saw it.
pub fn changed(books: &Books, before: &Booking) -> Vec<String> {
    if books.booking(&before.code) == Some(before) { Vec::new() } else { vec![format!("{} was changed", before.code)] }
}
