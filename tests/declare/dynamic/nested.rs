//! Tests of structs with dynamic fields that are nested in the input of a tool.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tool_runtime::{Context, DynamicInput, Provide, Tool as _, Validation, tool, tool::DecodeError, toolset};

use super::call;

struct Network {
    cities: Vec<&'static str>,
    validations: AtomicUsize,
}

/// One way.
#[derive(DynamicInput)]
#[dynamic_input(state = Network)]
struct Leg {
    /// The start.
    #[dynamic(validate = from)]
    from: String,
    #[dynamic(validate = to, requires(from, class), hints(seat))]
    to: String,
    /// The class.
    #[arg(range(1..=2))]
    class: u8,
    #[dynamic(nested, after(to))]
    seat: Seat,
}

/// A seat in a row.
#[derive(DynamicInput)]
struct Seat {
    #[dynamic(validate = Seat::validate_row, requires(window))]
    row: u8,
    #[arg(default)]
    window: bool,
}

impl Seat {
    async fn validate_row(value: Option<u8>, known: SeatRow<'_>) -> Validation<u8> {
        futures_util::future::ready(()).await;
        match value {
            Some(row @ 1..=9) => Validation::accept(row).remark(format!("window: {}", known.window)),
            _ => Validation::reject("no such row").suggested([1, 2]),
        }
    }
}

fn from(value: Option<String>, known: LegFrom<'_>) -> Validation<String> {
    let Network { cities, validations } = known.state();
    validations.fetch_add(1, Ordering::SeqCst);
    match value.and_then(|value| cities.iter().find(|city| city.eq_ignore_ascii_case(&value))) {
        Some(city) => Validation::accept((*city).to_owned()),
        None => Validation::reject("not from there").allowed(cities.iter().map(|&city| city.to_owned())),
    }
}

async fn to(value: Option<String>, known: LegTo<'_>) -> Validation<String> {
    assert!((1..=2).contains(known.class));
    assert_eq!(known.call().call_id(), "c");
    assert!(known.seat.is_none_or(|seat| seat.row > 0));
    match value {
        Some(value) if value != *known.from => Validation::accept(value),
        _ => Validation::reject("somewhere else"),
    }
}

/// Books a journey.
#[tool]
fn journey(
    /// The way there.
    #[dynamic(nested)]
    #[arg(rename = "there")]
    outbound: Leg,
    #[dynamic(validate = nights, requires(outbound))] nights: u8,
    #[arg(default)] note: String,
) -> String {
    let Leg { from, to, class, seat: Seat { row, window } } = outbound;
    format!("{from} {to} {class} {row} {window} {nights} {note}")
}

fn nights(value: Option<u8>, known: JourneyNights<'_>) -> Validation<u8> {
    Validation::accept(value.unwrap_or(if known.outbound.to == "Rome" { 7 } else { 1 }))
}

#[derive(Provide)]
struct App {
    network: Network,
}

fn app() -> App {
    App { network: Network { cities: vec!["Bonn", "Rome"], validations: AtomicUsize::new(0) } }
}

fn feedback(arguments: Value) -> Value {
    call(&toolset!(app(); journey), "journey", arguments).unwrap_err()
}

#[test]
fn the_tool_receives_the_whole_object() {
    let given = json!({ "there": { "from": "Bonn", "to": "Rome", "class": 1, "seat": { "row": 3, "window": true } } });
    assert_eq!(call(&toolset!(app(); journey), "journey", given), Ok(json!("Bonn Rome 1 3 true 7 ")));
}

#[test]
fn reports_have_dotted_names() {
    let expected = json!({ "ok": false, "validationResults": {
        "there.from": { "valid": true, "normalizedValue": "Bonn" },
        "there.to": { "valid": false, "problems": ["somewhere else"] },
        "there.seat.row": { "valid": false, "problems": ["no such row"], "suggestedValues": [1, 2] },
        "nights": { "valid": false, "requiresValidParameters": ["there.to", "there.seat.row"] },
    }});
    assert_eq!(feedback(json!({ "there": { "from": "bonn", "class": 1 } })), expected);
}

#[test]
fn a_missing_object_reports_each_field() {
    let feedback = feedback(json!({}));
    assert_eq!(feedback["validationResults"]["there.class"]["problems"], json!(["missing: expected a value"]));
    assert_eq!(feedback["validationResults"]["there.from"]["allowedValues"], json!(["Bonn", "Rome"]));
    assert_eq!(
        feedback["validationResults"]["there.to"]["requiresValidParameters"],
        json!(["there.from", "there.class"])
    );
    let result = &feedback["validationResults"];
    assert_eq!(result["nights"]["requiresValidParameters"][0], json!("there.class"));
    assert_eq!(feedback.get("problems"), None);
}

#[test]
fn mistakes_in_nested_fields_are_reported_at_their_fields() {
    let results = |inside: Value| feedback(json!({ "there": inside }))["validationResults"].clone();
    let feedback = results(json!({ "from": 5, "class": 1, "seat": 7 }));
    assert!(
        feedback["there.from"]["problems"][0].as_str().unwrap().starts_with("expected a string, got 5"),
        "{feedback:#}"
    );
    assert_eq!(feedback["there.from"]["allowedValues"], json!(["Bonn", "Rome"]));
    assert_eq!(feedback["there.to"]["requiresValidParameters"], json!(["there.from"]));
    assert!(feedback["there.seat"]["problems"][0].as_str().unwrap().contains("object"), "{feedback:#}");
    assert_eq!(feedback["there.seat.row"]["problems"], json!(["no such row"]));
    let feedback = results(json!({ "class": 3, "frm": "Bonn", "other": 1, "seat": { "rows": 1 } }));
    assert!(feedback["there.class"]["problems"][0].as_str().unwrap().contains('2'), "{feedback:#}");
    assert_eq!(
        feedback["there.from"]["problems"],
        json!(["`there.frm`: unknown name: expected `from`, `to`, `class`, `seat`; did you mean `from`?"])
    );
    assert!(
        feedback["there"]["problems"][0].as_str().unwrap().starts_with("`there.other`: unknown name"),
        "{feedback:#}"
    );
}

#[test]
fn a_value_that_is_not_an_object_is_reported_at_its_parameter() {
    let feedback = feedback(json!({ "there": [], "thre": {} }));
    assert!(feedback["validationResults"]["there"]["problems"][0].as_str().unwrap().contains("object"), "{feedback:#}");
    assert!(feedback["problems"].is_array(), "{feedback:#}");
}

#[test]
fn accepted_arguments_are_read_as_one_input() {
    let read = |arguments: &str| journey::decode(arguments, &Context::new("c"));
    let seat = r#""seat": { "row": 3 }"#;
    let input = read(&format!(r#"{{ "nights": 1, "there": {{ "class": 1, "from": "a", "to": "b", {seat} }} }}"#));
    let journey { outbound, nights, .. } = input.unwrap();
    assert_eq!((&*outbound.to, outbound.seat.row, nights), ("b", 3, 1));
    let Err(DecodeError::Arguments(feedback)) =
        read(&format!(r#"{{ "nights": 1, "there": {{ "class": 1, {seat} }} }}"#))
    else {
        panic!()
    };
    assert!(
        feedback.to_json()["validationResults"]["there"]["problems"][0].as_str().unwrap().contains("from"),
        "{feedback}"
    );
}

#[tokio::test]
async fn normalized_values_are_written_back() {
    let tools = toolset!(app(); journey);
    let cx = Context::new("c");
    let given = r#"{"there": {"class": 2, "seat": {"window":true,"row": 2}, "from": "ROME", "to": "x"}, "note": "n"}"#;
    let started = tools.prepare("journey", given, &cx).await.unwrap();
    let expected =
        r#"{"there":{"class":2,"seat":{"window":true,"row":2},"from":"Rome","to":"x"},"note":"n","nights":1}"#;
    assert_eq!(started.normalized.as_deref(), Some(expected));
    let output = started.work.await.unwrap();
    let feedback = format!("{:?}", output.for_model());
    assert!(feedback.contains("`there.from` is understood as"), "{feedback}");
}

#[test]
fn dynamic_fields_are_optional_in_the_schema() {
    let tools = toolset!(app(); journey);
    let schema = tools.get("journey").unwrap().spec().input.neutral().clone();
    let there = &schema["properties"]["there"];
    assert_eq!(schema.get("required"), None);
    assert_eq!(there["required"], json!(["class"]));
    assert_eq!(there["description"], json!("The way there."));
    assert_eq!(there["additionalProperties"], json!(false));
    assert_eq!(there["properties"]["class"]["maximum"], json!(2));
    assert_eq!(there["properties"]["seat"]["properties"]["row"]["type"], json!("integer"));
}
