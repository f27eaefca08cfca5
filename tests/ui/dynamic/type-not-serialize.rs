use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: Seats) {
    drop(seats);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Seats(u8);

fn seats(value: Option<Seats>, _: BookSeats<'_>) -> Validation<Seats> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

const _: fn(Seats) -> u8 = |seats| seats.0;

fn main() {}
