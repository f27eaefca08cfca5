use schemars::JsonSchema;
use serde::Deserialize;
use tool_runtime::{Validation, tool};

/// A value that must stay on its thread.
#[derive(Deserialize, JsonSchema)]
#[serde(from = "u8")]
struct Seats(#[schemars(with = "u8")] *const u8);

impl From<u8> for Seats {
    fn from(_: u8) -> Self {
        Self(std::ptr::null())
    }
}

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: Seats) {
    drop(seats);
}

fn seats(value: Option<Seats>, _: BookSeats<'_>) -> Validation<Seats> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
