//! Dialogues in which a tool refuses a call and says why.

use serde_json::{Value, json};

use super::{check, tool};
use tool_runtime::toolset::ToolList;

/// A tool that says what is possible only when it is called: nothing is required.
fn airline() -> ToolList {
    let input = json!({"type": "object", "properties": {
        "departure": {"type": "string", "description": "Airport of departure."},
        "arrival": {"type": "string", "description": "Airport of arrival."},
        "date": {"type": "string", "format": "date", "description": "Day of the flight."},
        "passengers": {"type": "integer", "format": "uint8", "minimum": 1, "maximum": 255}}});
    ToolList::new(vec![tool("book_flight", "Book a flight.", input)])
}

/// A script in which `$n` stands for the nth feedback.
fn script(text: &str, feedback: &[Value]) -> String {
    let fill = |text: String, (at, value): (usize, &Value)| text.replace(&format!("${at}\n"), &format!("{value}\n"));
    feedback.iter().enumerate().fold(text.to_owned(), fill)
}

fn no(results: &Value) -> Value {
    json!({"ok": false, "validationResults": results})
}

#[test]
fn a_booking_is_led_by_what_the_tool_allows() {
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
    check(&airline(), &script(text, &feedback));
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
    check(&airline(), &script(text, &feedback));
}

#[test]
fn only_what_was_refused_is_asked_again_deep_inside_too() {
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
    check(&ToolList::new(vec![tool("add_person", "Add a person.", input)]), &script(text, &feedback));
}
