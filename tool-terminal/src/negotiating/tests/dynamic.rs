//! Dialogues over tools with dynamic parameters, which the tools' own engine answers.

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::super::fold::Reply;
use super::{answer, assistant, check as scripted, reply, tool};
use tool_runtime::feedback::Rejection;
use tool_runtime::message::{Message, ToolCall};
use tool_runtime::tool::Validation;
use tool_runtime::tool::{CallError, Context};
use tool_runtime::toolset::{DynamicField, RuntimeTool, ToolList, Toolset};

const FLIGHTS: [(&str, &str, &str, u64); 6] = [
    ("London", "New York", "2026-10-01", 100),
    ("London", "New York", "2026-10-02", 2),
    ("Berlin", "New York", "2026-10-03", 2),
    ("Berlin", "London", "2026-10-04", 2),
    ("Paris", "Tokyo", "2026-10-05", 50),
    ("New York", "Los Angeles", "2026-10-06", 25),
];

/// One of `cities`, each once, however it is written.
#[allow(clippy::needless_pass_by_value, reason = "as validators get it")]
fn city(value: Option<Value>, cities: impl Iterator<Item = &'static str>) -> Validation<Value> {
    let mut all: Vec<Value> = Vec::new();
    for city in cities.map(Value::from) {
        if !all.contains(&city) {
            all.push(city);
        }
    }
    let said = value.as_ref().and_then(Value::as_str).unwrap_or_default().to_lowercase();
    match all.iter().find(|city| city.as_str().is_some_and(|city| city.to_lowercase() == said)) {
        Some(city) => Validation::accept(city.clone()).allowed(&all),
        None => Validation::reject("no matching options").allowed(&all),
    }
}

/// The airline of the first implementation: four parameters, each of which waits for those before.
fn airline() -> Toolset {
    let input = json!({"type": "object", "required": ["departure", "arrival", "date", "passengers"], "properties": {
        "departure": {"type": "string", "description": "City of departure."},
        "arrival": {"type": "string", "description": "City of arrival."},
        "date": {"type": "string", "format": "date", "description": "Day of the flight."},
        "passengers": {"type": "integer", "minimum": 1}}});
    let book = RuntimeTool::new("book_flight", "Book a flight.").input(input).dynamic();
    let book = book
        .field(DynamicField::new("departure").validate(|value, _| city(value, FLIGHTS.iter().map(|flight| flight.0))))
        .field(DynamicField::new("arrival").requires(["departure"]).validate(|value, known| {
            city(value, FLIGHTS.iter().filter(|flight| known["departure"] == flight.0).map(|flight| flight.1))
        }))
        .field(DynamicField::new("date").requires(["departure", "arrival"]).hints(["passengers"]).validate(
            |value, known| {
                let seats = known.hint("passengers").and_then(Value::as_u64).filter(|_| value.is_none()).unwrap_or(1);
                let goes = |flight: &&(&str, &str, &str, u64)| {
                    known["departure"] == flight.0 && known["arrival"] == flight.1 && flight.3 >= seats
                };
                city(value, FLIGHTS.iter().filter(goes).map(|flight| flight.2))
            },
        ))
        .field(DynamicField::new("passengers").requires(["departure", "arrival", "date"]).validate(|value, known| {
            let goes = |flight: &&(&str, &str, &str, u64)| {
                known["departure"] == flight.0 && known["arrival"] == flight.1 && known["date"] == flight.2
            };
            let most = FLIGHTS.iter().filter(goes).map(|flight| flight.3).max().unwrap_or(0);
            match value.as_ref().and_then(Value::as_u64) {
                Some(count) if count <= most => Validation::accept(json!(count)),
                Some(count) => Validation::reject(format!("not enough seats ({count} passengers, max is {most})"))
                    .allowed((1..=most).map(Value::from)),
                None => Validation::reject("value required"),
            }
        }));
    set(book
        .handler(|arguments, _| async move { Ok(json!({"booked": arguments["date"]})) })
        .expect("it fits its schema"))
}

fn set(tool: impl tool_runtime::tool::DynTool + 'static) -> Toolset {
    Toolset::new().with(tool).expect("its name is its own")
}

/// Returns the answer of a tool of `tools` to a call.
pub fn ask(tools: &Toolset, call: &ToolCall) -> (Message, Option<Rejection>) {
    let cx = Context::new(&call.id);
    match tools.call(&call.name, &call.arguments, &cx).now_or_never().expect("nothing waits") {
        Ok(output) => (answer(call, &output.text(), false), None),
        Err(CallError::Rejected(refusal)) => (answer(call, &refusal.to_json_text(), true), Some(refusal)),
        Err(other) => (answer(call, &other.to_string(), true), None),
    }
}

/// Runs a script of what a person says and the model answers; the tools answer the calls.
#[track_caller]
fn check(tools: &Toolset, script: &str) {
    let written: Vec<&str> = script.trim().lines().map(str::trim).collect();
    let (mut messages, mut out) = (Vec::new(), Vec::new());
    for line in written.iter().filter(|line| line.starts_with("> ")) {
        out.push((*line).to_owned());
        messages.push(Message::user(&line[2..]));
        loop {
            let next = reply(tools.list(), &messages);
            messages.push(assistant(&next));
            match next {
                Reply::Say(text) => break out.extend(text.lines().map(|line| line.trim().to_owned())),
                Reply::Call(call) => {
                    out.push(format!("! {}", call.arguments));
                    messages.push(ask(tools, &call).0);
                }
            }
        }
    }
    let (run, written) = (out.join("\n"), written.join("\n"));
    assert!(run == written, "\n--- it runs as\n{run}\n--- it is written as\n{written}\n");
}

#[test]
fn a_booking_goes_as_it_went_there() {
    check(
        &airline(),
        r#"
        > book a flight
        ! {}
        Which city of departure?
        1. London
        2. Berlin
        3. Paris
        4. New York
        > 1
        ! {"departure":"London"}
        Which city of arrival?
        1. New York
        > new york
        ! {"departure":"London","arrival":"New York"}
        Which day of the flight?
        1. 2026-10-01 – Thursday, 1 October
        2. 2026-10-02 – Friday, 2 October
        > friday
        ! {"departure":"London","arrival":"New York","date":"2026-10-02"}
        How many passengers? (1 or more)
        > 3
        ! {"departure":"London","arrival":"New York","date":"2026-10-02","passengers":3}
        “3” does not work for passengers: not enough seats (3 passengers, max is 2).
        Which passengers?
        - 1
        - 2
        > 2
        ! {"departure":"London","arrival":"New York","date":"2026-10-02","passengers":2}
        booked: 2026-10-02

        Anything else?"#,
    );
}

#[test]
fn an_empty_list_is_a_reason_to_go_back() {
    check(
        &airline(),
        r#"
        > fly from berlin to london with 3 passengers
        ! {"departure":"berlin","arrival":"london","passengers":3}
        “berlin” is understood as Berlin.
        “london” is understood as London.
        Nothing is possible for date with departure: Berlin, arrival: London, passengers: 3: no matching options.
        What would you like to change?
        1. departure: Berlin
        2. arrival: London
        3. passengers: 3
        Or say “cancel”.
        > from London to New York
        ! {"departure":"London","arrival":"New York","passengers":3}
        Which day of the flight?
        1. 2026-10-01 – Thursday, 1 October
        > 2
        “2” is not on the list.
        Which day of the flight?
        1. 2026-10-01 – Thursday, 1 October
        > the 1st of October
        ! {"departure":"London","arrival":"New York","date":"2026-10-01","passengers":3}
        booked: 2026-10-01

        Anything else?"#,
    );
}

#[test]
fn nested_names_are_places() {
    let leg = json!({"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}});
    let input = json!({"type": "object", "properties": {"leg": leg}});
    let tools = ToolList::new(vec![tool("plan", "Plan a trip.", input)]);
    scripted(
        &tools,
        r#"
        > plan
        ! plan {}
        < {"ok":false,"validationResults":{"leg.from":{"valid":false,"problems":["where from?"],"allowedValues":["A","B"]},"leg.to":{"valid":false,"requiresValidParameters":["leg.from"]}}}
        Leg: from?
        1. A
        2. B
        > 2
        ! plan {"leg":{"from":"B"}}
        < {"ok":false,"validationResults":{"leg.from":{"valid":true},"leg.to":{"valid":false,"problems":["full"],"allowedValues":[]}}}
        Nothing is possible for leg to with leg from: B: full.
        What would you like to change?
        1. leg from: B
        Or say “cancel”.
        > 1
        Leg: from?
        1. A
        2. B
        > a
        ! plan {"leg":{"from":"A"}}
        < {"ok":true,"leg":{"from":"A","to":"C"},"feedback":["Only C goes there."]}
        leg:
        from: A
        to:   C
        Only C goes there.

        Anything else?"#,
    );
}
