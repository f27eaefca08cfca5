use std::marker::PhantomData;

use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: PhantomData<*const u8>) {
    drop(seats);
}

fn seats(value: Option<PhantomData<*const u8>>, _: BookSeats<'_>) -> Validation<PhantomData<*const u8>> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
