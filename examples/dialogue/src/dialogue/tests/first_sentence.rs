//! Values that are read from a first sentence, and values that are not.

use serde_json::{Value, json};

use super::super::extract::extract;
use super::super::shape::Shape;

fn found(schema: &Value, text: &str) -> Value {
    let found = extract(&Shape::of(schema), &Value::Null, &[], text);
    found.values.into_iter().map(|(pointer, value)| (pointer[1..].to_owned(), value)).collect()
}

fn object(properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flatten().map(|(name, _)| name).collect();
    json!({"type": "object", "required": required, "properties": properties})
}

#[test]
fn places_and_ways() {
    let way = object(&json!({"origin": {"type": "string"}, "destination": {"type": "string"}}));
    for (text, expected) in [
        ("from paris to new york tomorrow", json!({"origin": "paris", "destination": "new york"})),
        (
            "I want to fly to New York from San Francisco!",
            json!({"origin": "San Francisco", "destination": "New York"}),
        ),
        ("I want to fly to Rio de Janeiro, please", json!({"destination": "Rio de Janeiro"})),
        ("I want to go to bed", json!({})),
        ("from: Oslo, to the moon", json!({})),
        ("origin: Oslo destination=Rome", json!({"origin": "Oslo", "destination": "Rome"})),
        ("origin: \"to Rome\"", json!({"origin": "to Rome"})),
    ] {
        assert_eq!(found(&way, text), expected, "{text}");
    }
    let city = object(&json!({"city": {"type": "string"}}));
    for (text, expected) in [
        ("weather in san francisco please", json!({"city": "san francisco"})),
        ("weather for Paris", json!({"city": "Paris"})),
        ("weather in the morning", json!({})),
        ("weather in 3 days", json!({})),
        ("weather in", json!({})),
        ("weather in July", json!({})),
        ("How warm is New York on Monday?", json!({"city": "New York"})),
        ("is Oslo or Rome warmer?", json!({})),
        ("Weather please", json!({})),
    ] {
        assert_eq!(found(&city, text), expected, "{text}");
    }
}

#[test]
fn months_by_name() {
    let month = json!({"type": "integer", "minimum": 1, "maximum": 12, "description": "The month, 1 for January."});
    let schema = object(&json!({"city": {"type": "string"}, "month": month}));
    for (text, expected) in [
        ("How warm is Oslo in July?", json!({"month": 7, "city": "Oslo"})),
        ("may I ask for Paris", json!({"city": "Paris"})),
        ("Rome between May and June", json!({})),
        ("in Sept", json!({"month": 9})),
    ] {
        assert_eq!(found(&schema, text), expected, "{text}");
    }
}

#[test]
fn words_with_an_unambiguous_form() {
    let order = object(&json!({
        "order_id": {"type": "string", "description": "The order id, such as '#W0000000'."},
        "email": {"type": "string"}, "day": {"type": "string", "format": "date"}, "code": {"type": "string", "pattern": "^[A-Z]{3}$"}}));
    for (text, expected) in [
        ("cancel #W1234567 for bob@x.org", json!({"order_id": "#W1234567", "email": "bob@x.org"})),
        ("on 2026-10-01 from JFK", json!({"day": "2026-10-01", "code": "JFK"})),
        ("from JFK or SFO on 2026-02-30", json!({})),
        ("#W1 or #W2", json!({})),
    ] {
        assert_eq!(found(&order, text), expected, "{text}");
    }
    let file = object(&json!({"path": {"type": "string"}}));
    assert_eq!(found(&file, "delete src/lib.rs."), json!({"path": "src/lib.rs"}));
    assert_eq!(found(&file, "copy a.txt to b.txt"), json!({}));
    let number = object(&json!({"flight_number": {"type": "string"}}));
    assert_eq!(found(&number, "status of flight HAT001"), json!({"flight_number": "HAT001"}));
    assert_eq!(found(&number, "status of flight please"), json!({}));
}

#[test]
fn values_and_numbers() {
    let trip = object(&json!({
        "cabin": {"enum": ["economy", "basic economy", "business"]}, "class": {"enum": ["all", "open"]},
        "bags": {"type": "integer", "maximum": 3}, "adults": {"type": "integer"},
        "meal": {"type": "boolean"}}));
    for (text, expected) in [
        ("basic economy with 2 bags", json!({"cabin": "basic economy", "bags": 2})),
        ("economy or business", json!({})),
        ("all of it with meal for adults 4", json!({"meal": true, "adults": 4})),
        ("two", json!({})),
        ("without meal and 9 bags", json!({"meal": false})),
    ] {
        assert_eq!(found(&trip, text), expected, "{text}");
    }
    let one = object(&json!({"count": {"type": "integer", "minimum": 1}}));
    assert_eq!(found(&one, "roll it three times"), json!({"count": 3}));
    assert_eq!(found(&one, "roll it 3 or 4 times"), json!({}));
    assert_eq!(found(&one, "that one"), json!({}));
    let tags = object(&json!({"tags": {"type": "array", "items": {"enum": ["red", "green"]}}}));
    assert_eq!(found(&tags, "paint it green and red"), json!({"tags": ["red", "green"]}));
}

#[test]
fn texts() {
    let note = object(&json!({"title": {"type": "string"}, "body": {"type": "string"}}));
    assert_eq!(found(&note, "a note called Groceries"), json!({"title": "Groceries"}));
    assert_eq!(found(&note, "a note called \"To do\" with \"x\""), json!({"title": "To do"}));
    assert_eq!(found(&note, "note \"x\""), json!({}));
    assert_eq!(
        found(&note, "note with title Groceries and body \"x, y\""),
        json!({"title": "Groceries", "body": "x, y"})
    );
    assert_eq!(found(&note, "body: hello, world\nTitle: A"), json!({"body": "hello, world", "title": "A"}));
    let query = object(&json!({"query": {"type": "string"}}));
    assert_eq!(found(&query, "search for cats and dogs"), json!({"query": "cats and dogs"}));
    assert_eq!(found(&query, "search \"cats\""), json!({"query": "cats"}));
    let question = object(&json!({"question": {"type": "string"}}));
    assert_eq!(found(&question, "Who was Ada?"), json!({"question": "Who was Ada?"}));
}

#[test]
fn a_wrong_value_of_a_named_parameter_is_reported() {
    let schema = object(&json!({"passengers": {"type": "integer", "maximum": 9}, "unit": {"enum": ["celsius"]}}));
    let complaints = |text| extract(&Shape::of(&schema), &Value::Null, &[], text).complaints;
    assert_eq!(complaints("for 12 passengers"), ["Passengers must be 9 or less."]);
    assert_eq!(complaints("unit: kelvin"), ["Unit: “kelvin” is not on the list."]);
    assert_eq!(complaints("unit: celcius"), ["Unit: “celcius” is not on the list. Did you mean celsius?"]);
}
