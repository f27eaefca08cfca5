//! Tests of typed views of arguments that are still arriving.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::{Context, Tool, json::IncrementalJson, tool, tool::PartialInput};

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    name: String,
    country: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// Plans a trip.
#[tool]
fn plan(
    /// The place of departure.
    from: City,
    /// The stops, in order.
    stops: Vec<City>,
    /// The number of days.
    #[arg(range(1..=30), default = 7)]
    days: u8,
    /// Of temperatures.
    unit: Option<Unit>,
    /// Anything else.
    #[arg(rename = "note_to_self")]
    note: Option<String>,
    /// The key of the weather service.
    #[arg(secret)]
    key: String,
) -> bool {
    let _ = (from, stops, days, unit, note, key);
    true
}

fn feed(text: &str) -> IncrementalJson {
    let mut json = IncrementalJson::new();
    json.feed_str(text).unwrap();
    json
}

#[test]
fn a_parameter_is_readable_as_soon_as_its_value_fits() {
    let json = feed("");
    let input = PartialInput::<plan>::of(&json);
    assert_eq!((input.value(), input.all()), (None, (None, None, None, None, None, None)));
    assert_eq!(input.get::<City>("from"), None);

    let json = feed(r#"{"from": {"name": "Ber"#);
    let input = PartialInput::<plan>::of(&json);
    let berlin = City { name: "Ber".to_owned(), country: None };
    assert_eq!(input.get::<City>("from"), Some(berlin.clone()));
    assert!(!input.is_complete("from") && !input.is_complete("stops"));
    assert_eq!(input.all().0, Some(berlin));

    let json = feed(r#"{"from": {"name": "Berlin"}, "unit": "cels"#);
    let input = PartialInput::<plan>::of(&json);
    assert_eq!((input.get::<Unit>("unit"), input.get::<&str>("unit")), (None, Some("cels")));
    assert!(input.is_complete("from") && !input.is_complete("unit"));

    let json = feed(r#"{"days": 1"#);
    assert_eq!(PartialInput::<plan>::of(&json).get::<u8>("days"), Some(1));
    assert!(!PartialInput::<plan>::of(&json).is_complete("days"), "the number may become 12");

    let json = feed(r#"{"note_to_self": null, "unit": "celsius", "days": 31, "key": "k", "stops": [{"name": "A"}, {"#);
    let input = PartialInput::<plan>::of(&json);
    let (from, stops, days, unit, note, key) = input.all();
    assert_eq!((from, days, unit, note), (None, Some(31), Some(Some(Unit::Celsius)), Some(None)));
    assert_eq!((stops, key), (None, None), "the second stop has no name yet, and a secret is not an argument");
    assert_eq!(input.get::<Vec<BTreeMap<String, Value>>>("stops").map(|stops| stops.len()), Some(2));
}

#[test]
fn complete_arguments_equal_the_decoded_ones() {
    let arguments = json!({
        "from": {"name": "Berlin", "country": "DE"},
        "stops": [{"name": "Köln"}, {"name": "Bonn"}],
        "days": 3,
        "unit": "fahrenheit",
        "note_to_self": "😀 \"quoted\"\n",
    });
    let text = arguments.to_string();
    let json = feed(&text);
    let input = PartialInput::<plan>::of(&json);
    assert!(["from", "stops", "days", "unit", "note_to_self"].iter().all(|name| input.is_complete(name)));
    let decoded = plan::decode(&text, &Context::new("call_1").with_secret("key", "k")).unwrap();
    let (from, stops, days, unit, note, _) = input.all();
    assert_eq!(from, Some(decoded.from));
    assert_eq!(stops, Some(decoded.stops));
    assert_eq!(days, Some(decoded.days));
    assert_eq!(unit, Some(decoded.unit));
    assert_eq!(note, Some(decoded.note));
}

#[test]
fn arguments_without_an_object_have_no_parameters() {
    let json = feed("[1, 2");
    let input = PartialInput::<plan>::of(&json);
    assert_eq!((input.get::<u8>("days"), input.is_complete("days"), input.all().2), (None, false, None));
    assert_eq!(input.value(), Some(&json!([1, 2])));
}

#[test]
#[should_panic(expected = "the tool `plan` has no parameter `dayz`")]
fn an_unknown_name_panics() {
    let json = feed("{");
    let _ = PartialInput::<plan>::of(&json).get::<u8>("dayz");
}
