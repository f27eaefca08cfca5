use tool_runtime::{Validation, tool, toolset};

/// Travel.
#[tool(strict, tag = "way")]
enum Travel {
    Flight(String),
    Train {
        way: String,
        #[dynamic(validate = to, requires(from))]
        to: String,
    },
    #[arg(rename = "train")]
    Bus {
        #[arg(rename = "way")]
        kind: String,
    },
    #[arg(default)]
    Walk,
}

fn to(value: Option<String>, _: TravelTrainTo<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Rest.
#[tool]
enum Rest {}

/// Eat.
#[tool]
enum Eat<T> {
    All { food: T },
}

/// Drink.
#[tool(tag = "kind")]
struct Drink {}

/// Sleep.
#[tool(tag = "a kind")]
enum Sleep {
    A {
        #[dynamic(validate = b_c)]
        b_c: u8,
    },
    AB {
        #[dynamic(validate = c)]
        c: u8,
    },
}

fn b_c(value: Option<u8>, _: SleepABC<'_>) -> Validation<u8> {
    Validation::accept(value.unwrap_or(1))
}

fn c(value: Option<u8>, _: SleepABC<'_>) -> Validation<u8> {
    Validation::accept(value.unwrap_or(1))
}

fn main() {
    toolset!(Travel, Rest, Drink, Sleep);
}
