//! Tools that give money back: `cancel_booking`, `compensate`.

use chrono::TimeDelta;
use tool_runtime::{Rejection, Validation, tool};

use crate::data::{Booking, Books, Cabin, Cents, Charge, Desk, Membership, Method, MethodKind, Reason, Status};
use crate::{rules, shared};

/// Cancel a booking, and pay the money back. Money of a voucher is lost.
#[tool(
    title = "Cancel a booking",
    effect = destructive,
    approval = always,
    challenge = "Cancel {booking}, and pay it back?"
)]
pub fn cancel_booking(
    /// The code of the booking.
    #[dynamic(
        validate = |value, known: CancelBookingBooking<'_>| {
            let books = known.desk.books();
            shared::booking(value, &books, known.call(), |booking| books.closed(booking))
        },
        derives(before: Booking)
    )]
    booking: String,
    /// The reason of the customer.
    #[dynamic(validate = reason, requires(booking))]
    reason: Reason,
    #[derived] before: Booking,
    #[state] desk: &Desk,
) -> Result<String, Rejection> {
    let mut books = desk.books();
    shared::too_late("booking", shared::changed(&books, &before))?;
    let methods = books.customer(&before.customer).map_or(Vec::new(), |customer| customer.methods.clone());
    let is_voucher = |id: &str| methods.iter().any(|known| known.id == id && known.kind == MethodKind::Voucher);
    let refunds: Vec<&Charge> = before.charges.iter().filter(|charge| !is_voucher(&charge.method)).collect();
    for Charge { method, cents } in &refunds {
        books.charge(&before.customer, method, -cents);
    }
    let total = refunds.iter().map(|charge| charge.cents).sum();
    books.move_seats(&before, 1);
    if let Some(booking) = books.booking_mut(&booking) {
        booking.cancelled = Some(reason);
    }
    Ok(format!("Booking {booking} is cancelled, {} are paid back.", rules::euros(total)))
}

fn reason(value: Option<Reason>, known: CancelBookingReason<'_>) -> Validation<Reason> {
    let (books, booking) = (known.desk.books(), known.before);
    let has = |reason: &Reason| match reason {
        Reason::Plans => booking.cabin == Cabin::Business || books.now - booking.booked < TimeDelta::hours(24),
        Reason::Airline => books.has_status(booking, Status::Cancelled),
        Reason::Illness => booking.insurance,
    };
    let possible: Vec<Reason> = [Reason::Plans, Reason::Airline, Reason::Illness].into_iter().filter(has).collect();
    let problem = match value {
        Some(reason) if possible.contains(&reason) => return Validation::accept(reason),
        Some(Reason::Plans) => "only a booking in business, or one of the last 24 hours, is cancelled for other plans",
        Some(Reason::Airline) => "the airline has cancelled none of its flights",
        Some(Reason::Illness) => "it has no insurance",
        None if possible.is_empty() => "it is too late, and it has no insurance",
        None => "which reason?",
    };
    Validation::reject(problem).allowed(possible)
}

/// Give a voucher for a flight that was delayed or cancelled: 50 or 100 euros for each passenger.
#[tool(approval = always, title = "Compensate", challenge = "Give a voucher of {cents} cents for {booking}?")]
pub fn compensate(
    /// The code of the booking.
    #[dynamic(
        validate = |value, known: CompensateBooking<'_>| {
            let books = known.desk.books();
            shared::booking(value, &books, known.call(), |booking| uncompensated(&books, booking))
        },
        derives(before: Booking)
    )]
    booking: String,
    /// The amount in cents; all that is possible if it is left out.
    #[arg(range(1..))]
    #[dynamic(validate = cents, requires(booking))]
    cents: Cents,
    #[derived] before: Booking,
    #[state] desk: &Desk,
) -> Result<Method, Rejection> {
    let mut books = desk.books();
    match books.booking_mut(&booking) {
        Some(booking) if !booking.is_compensated => booking.is_compensated = true,
        _ => return Err(Rejection::of("booking", format!("{booking} was compensated by another call"))),
    }
    let voucher = Method { id: format!("voucher_{booking}"), kind: MethodKind::Voucher, cents: Some(cents) };
    if let Some(customer) = books.customers.iter_mut().find(|customer| customer.id == before.customer) {
        customer.methods.push(voucher.clone());
    }
    Ok(voucher)
}

/// Returns the reason why a booking gets no compensation, if there is one.
fn uncompensated(books: &Books, booking: &Booking) -> Option<String> {
    let is_member = books.customer(&booking.customer).is_some_and(|known| known.membership != Membership::Regular);
    let problem = if booking.is_compensated {
        "it was compensated already"
    } else if most(books, booking) == 0 {
        "none of its flights is delayed or cancelled"
    } else if !is_member && !booking.insurance && booking.cabin != Cabin::Business {
        "only members, business and insured bookings are compensated"
    } else {
        return None;
    };
    Some(problem.to_owned())
}

fn cents(value: Option<Cents>, known: CompensateCents<'_>) -> Validation<Cents> {
    let most = most(&known.desk.books(), known.before);
    match value {
        Some(cents) if cents > most => {
            Validation::reject(format!("at most {}, not {}", rules::euros(most), rules::euros(cents)))
        }
        value => Validation::accept(value.unwrap_or(most)),
    }
}

/// Returns the largest compensation of a booking.
fn most(books: &Books, booking: &Booking) -> Cents {
    let each = if books.has_status(booking, Status::Cancelled) {
        10_000
    } else if books.has_status(booking, Status::Delayed) {
        5_000
    } else {
        0
    };
    each * rules::count(booking.passengers.len())
}
