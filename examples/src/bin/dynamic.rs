//! Allowed values that depend on data and on earlier choices. A model calls with what it knows, and learns what is missing.
//!
//! `cargo run -p examples --bin dynamic` prints:
//!
//! ```text
//! book_flight {"from": "berlin"}
//!   from: ok; understood as "Berlin"
//!   to: where to?; choose from "Rome", "Oslo"
//! book_flight {"from": "berlin", "to": "Oslo"}
//!   "from Berlin to Oslo, one of 3 routes"
//! ```

use tool_runtime::{CallError, Context, Validation, tool, toolset};

/// The routes of an airline.
struct Routes(Vec<(&'static str, &'static str)>);

/// Book a flight.
#[tool]
async fn book_flight(
    /// The airport of departure.
    #[dynamic(validate = validate_from)]
    from: String,
    /// The airport of arrival.
    #[dynamic(validate = validate_to, requires(from))]
    to: String,
    #[state] routes: &Routes,
) -> String {
    format!("from {from} to {to}, one of {} routes", routes.0.len())
}

/// Accepts a city in upper or lower case. Accepting another value than the model's corrects the model's.
fn validate_from(value: Option<String>, known: BookFlightFrom<'_>) -> Validation<String> {
    let cities = known.routes.0.iter().map(|(from, _)| (*from).to_owned());
    match value.and_then(|value| cities.clone().find(|city| city.eq_ignore_ascii_case(&value))) {
        Some(city) => Validation::accept(city),
        None => Validation::reject("no flights from there").allowed(cities),
    }
}

/// Accepts a city to which a route leads from `from`. It runs only after `from` was accepted.
fn validate_to(value: Option<String>, known: BookFlightTo<'_>) -> Validation<String> {
    let there = known.routes.0.iter().filter(|(from, _)| from == known.from).map(|(_, to)| (*to).to_owned());
    match value.filter(|value| there.clone().any(|city| city == *value)) {
        Some(city) => Validation::accept(city),
        None => Validation::reject("where to?").allowed(there),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let tools = toolset!(Routes(vec![("Berlin", "Rome"), ("Berlin", "Oslo"), ("Oslo", "Berlin")]); book_flight);
    let cx = Context::new("call_1");
    for arguments in [r#"{"from": "berlin"}"#, r#"{"from": "berlin", "to": "Oslo"}"#] {
        println!("book_flight {arguments}");
        match tools.call("book_flight", arguments, &cx).await {
            Ok(output) => println!("  {}", output.as_json().unwrap_or_default()),
            Err(CallError::Rejected(rejection)) => rejection.to_text().lines().for_each(|line| println!("  {line}")),
            Err(error) => println!("  {error}"),
        }
    }
}
