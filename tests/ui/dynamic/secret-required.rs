use tool_runtime::{Verdict, tool};

/// Book a flight.
#[tool]
fn book(#[dynamic(validate = seats, hints(key))] seats: u8, #[arg(secret)] key: String) -> String {
    format!("{seats} {key}")
}

fn seats(value: Option<u8>, _: BookSeats<'_>) -> Verdict<u8> {
    value.map_or(Verdict::reject("missing"), Verdict::accept)
}

fn main() {}
