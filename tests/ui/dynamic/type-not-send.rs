#![allow(deprecated)]

use std::marker::PhantomData;

use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats)] seats: PhantomData<*const u8>) {
    drop(seats);
}

fn seats(value: Option<PhantomData<*const u8>>, _: BookSeats<'_>) -> Verdict<PhantomData<*const u8>> {
    value.map_or(Verdict::reject("missing"), Verdict::accept)
}

fn main() {}
