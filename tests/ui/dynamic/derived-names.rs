use tool_runtime::{Validation, tool};

struct Airport;

/// Book a flight.
#[tool(allow(undescribed))]
fn book(
    #[dynamic(validate = from, derives(airport: Airport))] from: String,
    #[dynamic(validate = to, requires(airport), derives(seats: Airport))] to: String,
    #[dynamic(validate = seats, derives(Airport))] seats: String,
    #[derived] airpot: Airport,
    #[derived] airport: &Airport,
    #[derived] (_, _): (Airport, Airport),
) -> String {
    let _ = (airpot, airport);
    from + &to + &seats
}

fn from(value: Option<String>, _: BookFrom<'_>) -> Validation<String, Airport> {
    value.map_or(Validation::reject("missing"), |value| Validation::accept(value).derive(Airport))
}

fn to(value: Option<String>, _: BookTo<'_>) -> Validation<String, Airport> {
    value.map_or(Validation::reject("missing"), |value| Validation::accept(value).derive(Airport))
}

fn seats(value: Option<String>, _: BookSeats<'_>) -> Validation<String> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
