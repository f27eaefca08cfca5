use tool_runtime::{DynamicInput, Validation, tool, toolset};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Plain {
    from: String,
}

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
struct Leg {
    #[dynamic(validate = from)]
    from: String,
    #[dynamic(nested)]
    plain: Plain,
}

fn from(value: Option<String>, _: LegFrom<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Book a flight.
#[tool(allow(undescribed))]
fn book(#[dynamic(nested)] plain: Plain, #[dynamic(nested)] leg: Leg) {
    drop((plain, leg));
}

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
struct Seat {
    row: u8,
}

type Seats = Vec<Seat>;

/// Reserve seats.
#[tool(allow(undescribed))]
fn reserve(#[dynamic(nested)] plains: Vec<Plain>, #[dynamic(nested)] seats: Seats) {
    drop((plains, seats));
}

fn main() {
    toolset!(book);
}
