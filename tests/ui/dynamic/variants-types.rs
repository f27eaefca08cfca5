use std::convert::Infallible;

use tool_runtime::{Context, ExecuteWith, Validation, tool, toolset};

struct Flights;

struct Seat;

/// Travel.
#[tool(state = Flights, allow(undescribed))]
enum Travel {
    Flight {
        #[dynamic(validate = to)]
        to: String,
        seat: Seat,
    },
    Train {
        #[dynamic(validate = station)]
        station: String,
    },
}

fn to(value: Option<String>, _: TravelFlightTo<'_>) -> Validation<u8> {
    Validation::reject(value.unwrap_or_default())
}

fn station(value: Option<String>, _: TravelFlightTo<'_>) -> Validation<String> {
    Validation::reject(value.unwrap_or_default())
}

impl ExecuteWith<Flights> for Travel {
    type Output = u8;
    type Error = Infallible;

    async fn execute(self, _: &Flights, _: &Context) -> Result<u8, Infallible> {
        Ok(1)
    }
}

fn main() {
    toolset!("something else"; Travel);
}
