//! Tests that [`Answer`] reads exactly the answers that the compact schema accepts. The crate `jsonschema` checks the schema.
//!
//! The reader does not know names and types, so the schemas of input and output check them here.

use jsonschema::Validator;
use serde_json::{Value, json};
use tool_runtime::feedback::{Choices, Reasons, Report};
use tool_schema::feedback::{Answer, Body, RejectedAnswer};
use tool_test_kit::mutate::{Random, change_value};
use tool_tests::answer_schema as answer;

/// A tool and its possible answers.
struct Tool {
    whole: Validator,
    output: Output,
    input: Input,
}

enum Output {
    Nothing,
    Merged(Validator),
    Wrapped(Validator),
}

enum Input {
    Fields(Vec<(&'static str, Validator)>),
    Value(Validator),
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).unwrap()
}

fn tools() -> Vec<Tool> {
    let city = json!({ "type": "string", "minLength": 1 });
    let seats = json!({ "type": "integer", "maximum": 9 });
    let any = json!({});
    let date = json!({ "type": ["string", "null"] });
    let record = json!({ "type": "object", "properties": { "city": city, "seats": seats, "any": any } });
    let id = json!({ "type": "object", "properties": { "id": { "type": "string" }, "note": {} }, "required": ["id"],
        "additionalProperties": false });
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let fields = || {
        let all = [("city", &city), ("seats", &seats), ("any", &any), ("leg.date", &date)];
        Input::Fields(all.map(|(name, schema)| (name, validator(schema))).into())
    };
    let more: &[(&str, &Value)] = &[("leg.date", &date)];
    vec![
        Tool {
            whole: validator(&answer::answer_schema(&record, Some(&id), more)),
            output: Output::Merged(validator(&id)),
            input: fields(),
        },
        Tool {
            whole: validator(&answer::answer_schema(&record, Some(&list), more)),
            output: Output::Wrapped(validator(&list)),
            input: fields(),
        },
        Tool {
            whole: validator(&answer::answer_schema(&city, None, &[])),
            output: Output::Nothing,
            input: Input::Value(validator(&city)),
        },
    ]
}

impl Tool {
    /// Returns whether `answer` belongs to this tool.
    fn owns(&self, answer: &Answer) -> bool {
        match answer {
            Answer::Done(success) => match (&self.output, success.body()) {
                (Output::Nothing, Body::Nothing) => true,
                (Output::Merged(schema), Body::Fields(fields)) => schema.is_valid(&Value::Object(fields.clone())),
                (Output::Wrapped(schema), Body::Value(value)) => schema.is_valid(value),
                _ => false,
            },
            Answer::Rejected(rejected) => match &self.input {
                Input::Fields(fields) => {
                    is_of_call(rejected) && rejected.reports().iter().all(|one| is_valid(fields, one))
                }
                Input::Value(schema) => {
                    rejected.reports().is_empty() && fits(schema, rejected.normalized(), rejected.choices())
                }
            },
        }
    }
}

fn is_of_call(rejected: &RejectedAnswer) -> bool {
    (rejected.normalized(), rejected.schema(), rejected.choices()) == (None, None, &Choices::Open)
}

fn is_valid(fields: &[(&str, Validator)], (name, report): &(String, Report)) -> bool {
    let known = |name: &String| fields.iter().find(|(known, _)| known == name);
    let Some((_, schema)) = known(name) else { return false };
    let required = report.rejected.iter().flat_map(Reasons::required);
    required.into_iter().all(|name| known(name).is_some()) && fits(schema, report.normalized.as_ref(), &report.choices)
}

fn fits(schema: &Validator, normalized: Option<&Value>, choices: &Choices) -> bool {
    let choices: &[Value] = match choices {
        Choices::Allowed(values) | Choices::Suggested(values) => values,
        _ => &[],
    };
    normalized.into_iter().chain(choices).all(|value| schema.is_valid(value))
}

/// Returns answers, most of them valid for one of the tools. The test mutates them.
fn corpus() -> Vec<Value> {
    let full = json!({ "valid": false, "problems": ["p"], "requiresValidParameters": ["city", "leg.date"],
        "normalizedValue": 3, "dynamicParameterSchema": { "maximum": 3 }, "allowedValues": [1, 2],
        "feedback": ["f"], "instructions": ["i"] });
    let suggested = json!({ "valid": false, "requiresValidParameters": ["seats"], "suggestedValues": ["Oslo"] });
    let accepted = json!({ "valid": true, "normalizedValue": "Oslo", "allowedValues": [] });
    vec![
        json!({ "ok": true, "id": "a", "note": 1, "feedback": ["f"], "instructions": ["i"] }),
        json!({ "ok": true, "id": "a" }),
        json!({ "ok": true, "value": ["a"], "feedback": ["f"] }),
        json!({ "ok": true }),
        json!({ "ok": false, "problems": ["p"], "feedback": ["f"], "instructions": ["i"] }),
        json!({ "ok": false, "problems": ["p"], "normalizedValue": "Oslo", "suggestedValues": ["Rome"],
            "dynamicParameterSchema": {} }),
        json!({ "ok": false, "problems": ["p"], "allowedValues": ["Rome", "Oslo"], "feedback": ["f"] }),
        json!({ "ok": false, "validationResults": { "seats": full, "city": suggested, "leg.date": accepted } }),
        json!({ "ok": false, "problems": ["p"], "validationResults": { "any": full, "city": accepted } }),
        json!({ "ok": false, "validationResults": { "leg.date": { "valid": true, "normalizedValue": null } } }),
    ]
}

/// Adds a key of an answer or report to a random object in `value`.
fn add_key(value: &mut Value, random: &mut Random) {
    const KEYS: [&str; 14] = [
        "ok",
        "value",
        "valid",
        "problems",
        "validationResults",
        "requiresValidParameters",
        "allowedValues",
        "suggestedValues",
        "normalizedValue",
        "dynamicParameterSchema",
        "feedback",
        "instructions",
        "seats",
        "other",
    ];
    let Some(map) = value.as_object_mut() else { return };
    let deeper: Vec<String> = map.iter().filter(|(_, one)| one.is_object()).map(|(key, _)| key.clone()).collect();
    if !deeper.is_empty() && random.below(3) > 0 {
        return add_key(&mut map[&deeper[random.below(deeper.len())]], random);
    }
    let values =
        [json!([]), json!(["city"]), json!([1]), json!(null), json!(true), json!(false), json!("x"), json!({})];
    map.insert(KEYS[random.below(KEYS.len())].to_owned(), values[random.below(values.len())].clone());
}

#[test]
fn the_reader_and_the_schema_agree() {
    let (tools, corpus) = (tools(), corpus());
    let mut random = Random::new(0x5eed);
    let (mut accepted, mut rejected) = (vec![0; tools.len()], vec![0; tools.len()]);
    for _ in 0..60_000 {
        let mut value = corpus[random.below(corpus.len())].clone();
        for _ in 0..random.below(4) {
            if random.below(2) == 0 {
                add_key(&mut value, &mut random);
            } else {
                let donor = corpus[random.below(corpus.len())].clone();
                change_value(&mut value, &donor, &mut random);
            }
        }
        let read = serde_json::from_str::<Answer>(&value.to_string());
        for (at, tool) in tools.iter().enumerate() {
            let theirs = tool.whole.is_valid(&value);
            let ours = read.as_ref().is_ok_and(|answer| tool.owns(answer));
            assert_eq!(ours, theirs, "tool {at}: {value}\n{read:?}");
            *if theirs { &mut accepted[at] } else { &mut rejected[at] } += 1;
        }
    }
    for (accepted, rejected) in accepted.into_iter().zip(rejected) {
        assert!(accepted > 2000 && rejected > 2000, "{accepted} accepted, {rejected} rejected");
    }
}
