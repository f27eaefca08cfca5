//! Dialogues in which a tool rejects a call with reasons: tools with dynamic parameters, and tools of other programs.

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::{check as scripted, check_with, tool, tool_result};
use tool_runtime::feedback::Rejection;
use tool_runtime::message::{Message, ToolCall};
use tool_runtime::tool::{CallError, Context, Validation};
use tool_runtime::toolset::{DynamicField, RuntimeTool, ToolList, Toolset};

const FLIGHTS: [(&str, &str, &str, u64); 6] = [
    ("London", "New York", "2026-10-01", 100),
    ("London", "New York", "2026-10-02", 2),
    ("Berlin", "New York", "2026-10-03", 2),
    ("Berlin", "London", "2026-10-04", 2),
    ("Paris", "Tokyo", "2026-10-05", 50),
    ("New York", "Los Angeles", "2026-10-06", 25),
];

/// Accepts one of `cities`, ignoring case. The result allows each city once.
#[allow(clippy::needless_pass_by_value, reason = "as validators get it")]
fn validate_city(value: Option<Value>, cities: impl Iterator<Item = &'static str>) -> Validation<Value> {
    let mut all: Vec<Value> = Vec::new();
    for city in cities.map(Value::from) {
        if !all.contains(&city) {
            all.push(city);
        }
    }
    let given = value.as_ref().and_then(Value::as_str).unwrap_or_default().to_lowercase();
    match all.iter().find(|city| city.as_str().is_some_and(|city| city.to_lowercase() == given)) {
        Some(city) => Validation::accept(city.clone()).allowed(&all),
        None => Validation::reject("no matching options").allowed(&all),
    }
}

/// Returns the tool of an airline. It has four parameters, each dependent on the earlier ones.
fn airline() -> Toolset {
    let input = json!({"type": "object", "required": ["departure", "arrival", "date", "passengers"], "properties": {
        "departure": {"type": "string", "description": "City of departure."},
        "arrival": {"type": "string", "description": "City of arrival."},
        "date": {"type": "string", "format": "date", "description": "Day of the flight."},
        "passengers": {"type": "integer", "minimum": 1}}});
    let book = RuntimeTool::new("book_flight", "Book a flight.").input(input).dynamic();
    let book = book
        .field(
            DynamicField::new("departure")
                .validate(|value, _| validate_city(value, FLIGHTS.iter().map(|flight| flight.0))),
        )
        .field(DynamicField::new("arrival").requires(["departure"]).validate(|value, known| {
            validate_city(value, FLIGHTS.iter().filter(|flight| known["departure"] == flight.0).map(|flight| flight.1))
        }))
        .field(DynamicField::new("date").requires(["departure", "arrival"]).hints(["passengers"]).validate(
            |value, known| {
                let seats = known.hint("passengers").and_then(Value::as_u64).filter(|_| value.is_none()).unwrap_or(1);
                let goes = |flight: &&(&str, &str, &str, u64)| {
                    known["departure"] == flight.0 && known["arrival"] == flight.1 && flight.3 >= seats
                };
                validate_city(value, FLIGHTS.iter().filter(goes).map(|flight| flight.2))
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

fn set(tool: impl tool_runtime::tool::ErasedTool + 'static) -> Toolset {
    Toolset::new().with(tool).expect("its name is its own")
}

pub fn call_tool(tools: &Toolset, call: &ToolCall) -> (Message, Option<Rejection>) {
    let cx = Context::new(&call.id);
    match tools.call(&call.name, &call.arguments, &cx).now_or_never().expect("nothing waits") {
        Ok(output) => (tool_result(call, &output.text(), false), None),
        Err(CallError::Rejected(rejection)) => (tool_result(call, &rejection.to_json_text(), true), Some(rejection)),
        Err(other) => (tool_result(call, &other.to_string(), true), None),
    }
}

#[track_caller]
fn check(tools: &Toolset, script: &str) {
    check_with(tools.list(), script, Some(&|call| call_tool(tools, call).0));
}

#[test]
fn a_booking_asks_for_one_parameter_after_the_other() {
    check(
        &airline(),
        r#"
        > book a flight
        ! book_flight {}
        Which city of departure?
        1. London
        2. Berlin
        3. Paris
        4. New York
        > 1
        ! book_flight {"departure":"London"}
        Which city of arrival?
        1. New York
        > new york
        ! book_flight {"departure":"London","arrival":"New York"}
        Which day of the flight?
        1. 2026-10-01 – Thursday, 1 October
        2. 2026-10-02 – Friday, 2 October
        > friday
        ! book_flight {"departure":"London","arrival":"New York","date":"2026-10-02"}
        How many passengers? (1 or more)
        > 3
        ! book_flight {"departure":"London","arrival":"New York","date":"2026-10-02","passengers":3}
        “3” does not work for passengers: not enough seats (3 passengers, max is 2).
        Which passengers?
        - 1
        - 2
        > 2
        ! book_flight {"departure":"London","arrival":"New York","date":"2026-10-02","passengers":2}
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
        ! book_flight {"departure":"berlin","arrival":"london","passengers":3}
        “berlin” is understood as Berlin.
        “london” is understood as London.
        Nothing is possible for date with departure: Berlin, arrival: London, passengers: 3: no matching options.
        What would you like to change?
        1. departure: Berlin
        2. arrival: London
        3. passengers: 3
        Or say “cancel”.
        > from London to New York
        ! book_flight {"departure":"London","arrival":"New York","passengers":3}
        Which day of the flight?
        1. 2026-10-01 – Thursday, 1 October
        > 2
        “2” is not on the list.
        Which day of the flight?
        1. 2026-10-01 – Thursday, 1 October
        > the 1st of October
        ! book_flight {"departure":"London","arrival":"New York","date":"2026-10-01","passengers":3}
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

/// Returns a tool that lists allowed values only in its rejections. Its schema requires nothing.
fn airline_of_feedback() -> ToolList {
    let input = json!({"type": "object", "properties": {
        "departure": {"type": "string", "description": "Airport of departure."},
        "arrival": {"type": "string", "description": "Airport of arrival."},
        "date": {"type": "string", "format": "date", "description": "Day of the flight."},
        "passengers": {"type": "integer", "format": "uint8", "minimum": 1, "maximum": 255}}});
    ToolList::new(vec![tool("book_flight", "Book a flight.", input)])
}

/// Returns a script in which the feedback with number n replaces `$n`.
fn script(text: &str, feedback: &[Value]) -> String {
    let fill = |text: String, (at, value): (usize, &Value)| text.replace(&format!("${at}\n"), &format!("{value}\n"));
    feedback.iter().enumerate().fold(text.to_owned(), fill)
}

fn no(results: &Value) -> Value {
    json!({"ok": false, "validationResults": results})
}

#[test]
fn the_allowed_values_of_the_tool_guide_a_booking() {
    let feedback = [
        no(&json!({
            "departure": {"valid": false, "problems": ["no matching options"], "allowedValues": ["london", "Berlin"]},
            "arrival": {"valid": false, "requiresValidParameters": ["departure"]},
            "date": {"valid": false, "requiresValidParameters": ["departure", "arrival"]},
            "passengers": {"valid": false, "requiresValidParameters": ["departure", "arrival", "date"]}})),
        no(&json!({
            "departure": {"valid": true, "allowedValues": ["london", "Berlin"]},
            "arrival": {"valid": false, "problems": ["no matching options"], "allowedValues": ["New York", "NEW_YORK"]},
            "date": {"valid": false, "requiresValidParameters": ["arrival"]},
            "passengers": {"valid": false, "requiresValidParameters": ["arrival", "date"]}})),
        no(&json!({
            "departure": {"valid": true}, "arrival": {"valid": true, "normalizedValue": "New York"},
            "date": {"valid": false, "problems": ["no matching options"], "suggestedValues": ["2026-10-02"]},
            "passengers": {"valid": false, "requiresValidParameters": ["date"]}})),
        no(&json!({
            "departure": {"valid": true}, "arrival": {"valid": true}, "date": {"valid": true},
            "passengers": {"valid": false, "problems": ["value required"]}})),
        no(&json!({
            "departure": {"valid": true}, "arrival": {"valid": true}, "date": {"valid": true},
            "passengers": {"valid": false, "problems": ["not enough seats available (3 passengers, max is 2)"]}})),
    ];
    let text = r#"
        > I want to fly
        I can do one thing: Book flight. Shall I? (yes or no)
        > yes
        ! book_flight {}
        < $0
        Which airport of departure?
        1. london
        2. Berlin
        > lodnon
        Did you mean “london” as departure? (yes or no)
        > yes
        ! book_flight {"departure":"london"}
        < $1
        Which airport of arrival?
        1. New York
        2. NEW_YORK
        > new york
        Which arrival do you mean?
        1. New York
        2. NEW_YORK
        > 2
        ! book_flight {"departure":"london","arrival":"NEW_YORK"}
        < $2
        “NEW_YORK” is understood as New York.
        What is the day of the flight? For example:
        1. 2026-10-02 – Friday, 2 October
        > 1
        ! book_flight {"departure":"london","arrival":"New York","date":"2026-10-02"}
        < $3
        How many passengers? (from 1 to 255)
        > 3
        ! book_flight {"departure":"london","arrival":"New York","date":"2026-10-02","passengers":3}
        <! $4
        “3” does not work for passengers: not enough seats available (3 passengers, max is 2).
        How many passengers? (from 1 to 255)
        > 2
        ! book_flight {"departure":"london","arrival":"New York","date":"2026-10-02","passengers":2}
        < {"ok":true,"departure":"london","feedback":["Have a good flight!"]}
        departure: london
        Have a good flight!

        Anything else?"#;
    scripted(&airline_of_feedback(), &script(text, &feedback));
}

#[test]
fn where_nothing_is_possible_something_else_can_change() {
    let feedback = [
        no(&json!({
            "departure": {"valid": true, "allowedValues": ["Paris", "Rome"]}, "arrival": {"valid": true},
            "date": {"valid": false, "problems": ["no matching options"], "allowedValues": []},
            "passengers": {"valid": false, "requiresValidParameters": ["date"]}})),
        json!({"ok": false, "problems": ["The desk is closed."], "instructions": ["Call again at nine."]}),
    ];
    let text = r#"
        > book a flight from Paris to Tokyo on 2026-10-01
        ! book_flight {"departure":"Paris","arrival":"Tokyo","date":"2026-10-01"}
        < $0
        Nothing is possible for date with departure: Paris, arrival: Tokyo: no matching options.
        What would you like to change?
        1. departure: Paris
        2. arrival: Tokyo
        Or say “cancel”.
        > whatever
        What would you like to change?
        1. departure: Paris
        2. arrival: Tokyo
        Or say “cancel”.
        > the departure
        Which airport of departure?
        1. Paris
        2. Rome
        > Rome
        ! book_flight {"departure":"Rome","arrival":"Tokyo","date":"2026-10-01"}
        < $1
        The desk is closed.
        Call again at nine.
        Shall I try again? (yes or no, or change something, such as “departure: …”)
        > change the arrival
        What is the airport of arrival?
        > Oslo
        ! book_flight {"departure":"Rome","arrival":"Oslo","date":"2026-10-01"}"#;
    scripted(&airline_of_feedback(), &script(text, &feedback));
}

#[test]
fn only_rejected_parameters_are_asked_again_at_any_depth() {
    let input = json!({"type": "object", "required": ["who"], "properties": {"who": {"type": "object",
        "required": ["name", "age"], "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
        "unit": {"type": "string"}}});
    let feedback = [
        no(&json!({"who": {"valid": false, "problems": ["`who.age`: expected a number from 0 to 150, got 900"]}})),
        no(&json!({"unit": {"valid": false, "requiresValidParameters": ["who"]}})),
        no(&json!({"unit": {"valid": false, "problems": ["unknown"],
            "dynamicParameterSchema": {"type": "integer", "maximum": 3}}})),
    ];
    let text = r#"
        > add person named Ada with who age 900
        ! add_person {"who":{"name":"Ada","age":900}}
        <! $0
        `who.age`: expected a number from 0 to 150, got 900
        Who: what is the age?
        > 36
        ! add_person {"who":{"name":"Ada","age":36}}
        <! $1
        What is the unit?
        > m
        ! add_person {"who":{"name":"Ada","age":36},"unit":"m"}
        <! $2
        “m” does not work for unit: unknown.
        What is the unit? (3 or less)
        > 7
        That must be 3 or less. What is the unit? (3 or less)
        > 2
        ! add_person {"who":{"name":"Ada","age":36},"unit":2}"#;
    scripted(&ToolList::new(vec![tool("add_person", "Add a person.", input)]), &script(text, &feedback));
}
