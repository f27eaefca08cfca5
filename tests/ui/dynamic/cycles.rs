use tool_runtime::{Validation, tool};

/// Book a flight.
#[tool]
struct Book {
    #[dynamic(validate = any, requires(to))]
    from: u8,
    #[dynamic(validate = any, requires(date), after(back))]
    to: u8,
    #[dynamic(validate = any, requires(from))]
    date: u8,
    #[dynamic(validate = any, after(seats))]
    back: u8,
    #[dynamic(validate = any, after(back))]
    seats: u8,
}

fn any<C>(value: Option<u8>, _: C) -> Validation<u8> {
    value.map_or(Validation::reject("missing"), Validation::accept)
}

fn main() {
    drop(any::<BookFrom<'_>>);
}
