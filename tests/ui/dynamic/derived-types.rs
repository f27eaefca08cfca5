use std::cell::Cell;

use tool_runtime::{Validation, tool};

struct Airport;

/// Book a flight.
#[tool(allow(undescribed))]
fn book(
    #[dynamic(validate = from, derives(start: Airport))] from: String,
    #[dynamic(validate = to, derives(end: Airport))] to: String,
    #[dynamic(validate = seats, derives(free: Cell<u8>))] seats: u8,
    #[derived] end: String,
) -> String {
    from + &to + &end + &seats.to_string()
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Validation<String> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn to(value: Option<String>, _: BookTo<'_>) -> Validation<String, Airport> {
    value.map_or(Validation::reject("missing"), |value| Validation::accept(value).derive(Airport))
}

fn seats(value: Option<u8>, _: BookSeats<'_>) -> Validation<u8, Cell<u8>> {
    value.map_or(Validation::reject("missing"), |value| Validation::accept(value).derive(Cell::new(1)))
}

fn main() {}
