use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(validate = seats)] seats: u8) {
    drop(seats);
}

async fn seats(value: Option<u8>, _: BookSeats<'_>) -> Validation<u8> {
    let shared = std::rc::Rc::new(value);
    std::future::ready(()).await;
    shared.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {}
