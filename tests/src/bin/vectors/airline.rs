//! `airline`: the tool of tool2agent.md section 5.1 over the flights of the case.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    builder::check,
    two_modes::{Field, TwoModeTool},
};

type KnownFn<'a> = &'a dyn Fn(&str) -> Option<Value>;

pub(crate) fn run(case: &Value) -> Result<Vec<&'static str>, String> {
    let flights = case["flights"].as_array().ok_or("no flights")?.clone();
    let text = json!({ "type": "string", "minLength": 1 });
    let field = |name: &str, schema: &Value, requires: &[&str]| Field {
        name: name.to_owned(),
        schema: schema.clone(),
        requires: Some(requires.iter().map(|name| (*name).to_owned()).collect()),
    };
    let fields = vec![
        field("departure", &text, &[]),
        field("arrival", &text, &["departure"]),
        field("date", &text, &["departure", "arrival"]),
        field("passengers", &json!({ "type": "number", "minimum": 1 }), &["departure", "arrival", "date"]),
    ];
    let judge = move |name: &str, value: Option<&Value>, known: KnownFn<'_>| Ok(judge(&flights, name, value, known));
    let execute = |arguments: Map<String, Value>| {
        let mut answer = Map::from_iter([("ok".to_owned(), Value::Bool(true))]);
        answer.extend(arguments);
        Ok(Value::Object(answer))
    };
    check(&TwoModeTool::new(fields, Arc::new(judge), Arc::new(execute)), case)
}

fn judge(flights: &[Value], name: &str, value: Option<&Value>, known: KnownFn<'_>) -> Value {
    let is_meant = |flight: &&Value| {
        ["departure", "arrival", "date"].iter().all(|column| match known(column) {
            Some(known) if known != "" && !known.is_null() => flight[*column] == known,
            _ => true,
        })
    };
    let flights = flights.iter().filter(is_meant);
    if name == "passengers" {
        return passengers(flights, value);
    }
    let least = known("passengers").and_then(|passengers| passengers.as_f64()).unwrap_or(0.0);
    let mut allowed: Vec<&Value> = Vec::new();
    for flight in flights.filter(|flight| name != "date" || flight["seats"].as_f64() >= Some(least)) {
        if !allowed.contains(&&flight[name]) {
            allowed.push(&flight[name]);
        }
    }
    match value {
        Some(value) if allowed.contains(&value) && name == "arrival" => {
            json!({ "allowedValues": allowed, "valid": true, "normalizedValue": value })
        }
        Some(value) if allowed.contains(&value) => json!({ "allowedValues": allowed, "valid": true }),
        _ => json!({ "allowedValues": allowed, "valid": false, "problems": ["no matching options"] }),
    }
}

fn passengers<'a>(flights: impl Iterator<Item = &'a Value>, value: Option<&Value>) -> Value {
    let seats = flights.filter_map(|flight| flight["seats"].as_f64()).fold(0.0, f64::max);
    let Some(value) = value else { return json!({ "valid": false, "problems": ["value required"] }) };
    let (written, count) = match value {
        Value::String(text) => (text.clone(), text.trim().parse().unwrap_or(f64::NAN)),
        Value::Null => ("null".to_owned(), 0.0),
        value => (value.to_string(), value.as_f64().unwrap_or(f64::NAN)),
    };
    if count > seats {
        let problem = format!("not enough seats available ({written} passengers, max is {seats})");
        return json!({ "valid": false, "problems": [problem] });
    }
    json!({ "valid": true })
}
