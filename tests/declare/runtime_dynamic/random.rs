//! Compares random tools with dynamic parameters with a sequential model.

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tool_runtime::{
    CallError, Context, Failure, Toolset, Validation,
    toolset::{DynamicField, KnownValues, RuntimeTool},
};

/// The behaviour of a validator.
#[derive(Clone, Copy, Debug)]
enum Behaviour {
    /// Accepts the given value, and requires one.
    Accept,
    /// Accepts the value in capitals.
    Capitals,
    /// Supplies a default.
    Default,
    /// Accepts a text of all values that it knows.
    Gather,
    /// Refuses.
    Refuse,
    /// Fails without a message.
    Fail,
    Panic,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    behaviour: Behaviour,
    requires: Vec<String>,
    after: Vec<String>,
    hints: Vec<String>,
    /// The milliseconds that it waits, if it is async.
    takes: Option<u64>,
}

/// Returns the value of another parameter, as a validator sees it: the accepted or the given one.
type See<'a> = &'a dyn Fn(&str) -> Option<Value>;

fn gather(field: &Field, value: Option<&Value>, get: See<'_>, hint: See<'_>) -> String {
    let all = field.requires.iter().chain(&field.after).map(|name| json!(get(name)));
    let hints = field.hints.iter().chain(&field.after).map(|name| json!(hint(name)));
    format!("{} {}", json!(value), all.chain(hints).collect::<Value>())
}

fn validate(field: &Field, value: Option<Value>, known: &KnownValues) -> Result<Validation<Value>, Failure> {
    let get = |name: &str| known.get(name).cloned();
    Ok(match field.behaviour {
        Behaviour::Accept => {
            value.map_or_else(|| Validation::reject("needed"), |value| Validation::accept(value).remark("fine"))
        }
        Behaviour::Capitals => match value.as_ref().and_then(Value::as_str) {
            Some(text) => Validation::accept(text.to_uppercase().into()),
            None => Validation::reject("needed").suggested([json!("A")]),
        },
        Behaviour::Default => Validation::accept(value.unwrap_or_else(|| "default".into())),
        Behaviour::Gather => {
            let hint = |name: &str| known.hint(name).cloned();
            Validation::accept(gather(field, value.as_ref(), &get, &hint).into())
        }
        Behaviour::Refuse => Validation::reject("never").allowed([json!("b")]),
        Behaviour::Fail => return Err(Failure::hidden("secret")),
        // `resume_unwind` does not call the hook, which would write to the tests' output.
        Behaviour::Panic => std::panic::resume_unwind(Box::new("secret")),
    })
}

fn tool(fields: &[Field]) -> Toolset {
    let names = fields.iter().map(|field| (field.name.clone(), json!({ "type": "string" })));
    let mut properties: Map<String, Value> = names.collect();
    properties.insert("fixed".into(), json!({ "type": "integer" }));
    let mut tool = RuntimeTool::new("tool", "").input(json!({ "properties": properties })).dynamic();
    for field in fields {
        let dynamic = DynamicField::new(&field.name).requires(&field.requires).after(&field.after).hints(&field.hints);
        let own = field.clone();
        tool = tool.field(match field.takes {
            None => dynamic.validate(move |value, known| validate(&own, value, &known)),
            Some(takes) => dynamic.validate_async(move |value, known| {
                let own = own.clone();
                async move {
                    tokio::time::sleep(Duration::from_millis(takes)).await;
                    validate(&own, value, &known)
                }
            }),
        });
    }
    Toolset::new().with(tool.handler(|arguments, _| async { Ok(arguments) }).unwrap()).unwrap()
}

/// Returns the expected result. It runs one validator after the other.
fn expect(fields: &[Field], given: &Map<String, Value>) -> Result<Value, Value> {
    let mut rest: BTreeMap<&str, &Field> = fields.iter().map(|field| (&*field.name, field)).collect();
    let mut accepted = given.clone();
    accepted.retain(|name, _| name == "fixed");
    let (mut reports, mut arguments) = (Map::new(), given.clone());
    while let Some(name) = rest
        .values()
        .find(|field| field.requires.iter().chain(&field.after).all(|name| !rest.contains_key(&**name)))
        .map(|field| field.name.clone())
    {
        let field = rest.remove(&*name).unwrap();
        let wrong = given.get(&name).filter(|value| !value.is_string());
        let missing: Vec<&String> =
            field.requires.iter().filter(|name| **name != "fixed" && !accepted.contains_key(*name)).collect();
        let value = given.get(&name).filter(|_| wrong.is_none());
        let mut report = json!({ "valid": false });
        let mut refuse = |problem: &str| report["problems"] = json!([problem]);
        let mut now = None;
        if missing.is_empty() {
            match (field.behaviour, value) {
                (Behaviour::Accept | Behaviour::Capitals, None) => refuse("needed"),
                (Behaviour::Accept | Behaviour::Default, Some(value)) => now = Some(value.clone()),
                (Behaviour::Capitals, Some(value)) => now = Some(value.as_str().unwrap().to_uppercase().into()),
                (Behaviour::Default, None) => now = Some("default".into()),
                (Behaviour::Gather, value) => {
                    let (get, hint) = (|name: &str| accepted.get(name).cloned(), |name: &str| given.get(name).cloned());
                    now = Some(gather(field, value, &get, &hint).into());
                }
                (Behaviour::Refuse, _) => refuse("never"),
                (Behaviour::Fail | Behaviour::Panic, _) => refuse("the value could not be checked; try again later"),
            }
        }
        if wrong.is_some() {
            refuse("expected a string, got 5; did you mean \"5\"?");
            now = None;
        }
        if !missing.is_empty() {
            report["requiresValidParameters"] = json!(missing);
        }
        if let Some(now) = now {
            report = json!({ "valid": true });
            if value != Some(&now) {
                report["normalizedValue"] = now.clone();
            }
            if matches!(field.behaviour, Behaviour::Accept) {
                report["feedback"] = json!(["fine"]);
            }
            accepted.insert(name.clone(), now.clone());
            arguments.insert(name.clone(), now);
        }
        if missing.is_empty() {
            match (field.behaviour, value) {
                (Behaviour::Refuse, _) => report["allowedValues"] = json!(["b"]),
                (Behaviour::Capitals, None) => report["suggestedValues"] = json!(["A"]),
                _ => {}
            }
        }
        reports.insert(name, report);
    }
    if reports.values().all(|report| report["valid"] == true) {
        return Ok(Value::Object(arguments));
    }
    Err(json!({ "ok": false, "validationResults": reports }))
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    prop_oneof![
        4 => Just(Behaviour::Accept),
        3 => Just(Behaviour::Capitals),
        4 => Just(Behaviour::Default),
        4 => Just(Behaviour::Gather),
        1 => Just(Behaviour::Refuse),
        1 => Just(Behaviour::Fail),
        1 => Just(Behaviour::Panic),
    ]
}

/// Generates parameters that depend on earlier ones, with shuffled names.
fn fields() -> impl Strategy<Value = Vec<Field>> {
    let one = (behaviour(), proptest::collection::vec(0_u8..5, 12), proptest::option::of(0_u64..5));
    (proptest::collection::vec(one, 1..=12), Just(('a'..='l').collect::<Vec<_>>()).prop_shuffle()).prop_map(
        |(all, names)| {
            let name = |index: usize| names[index].to_string();
            let field = |(index, (behaviour, edges, takes)): (usize, (Behaviour, Vec<u8>, Option<u64>))| {
                // The static parameter takes the place of the parameter itself.
                let other = |other: usize| if other == index { "fixed".to_owned() } else { name(other) };
                let to = |kind: u8| (0..=index).filter(|other| edges[*other] == kind).map(other).collect();
                let hints = (0..12).filter(|other| *other != index && edges[*other] == 2).map(name);
                Field { name: name(index), behaviour, requires: to(0), after: to(1), hints: hints.collect(), takes }
            };
            let count = all.len();
            let mut fields: Vec<Field> = all.into_iter().enumerate().map(field).collect();
            let known: Vec<String> = (0..count).map(name).collect();
            for field in &mut fields {
                field.hints.retain(|hint| known.contains(hint));
            }
            fields
        },
    )
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_tool_agrees_with_the_model(
        fields in fields(),
        given in proptest::collection::vec(proptest::option::weighted(0.7, prop_oneof![
            5 => "[a-cA-C]{0,3}".prop_map(Value::from), 1 => Just(json!(5)),
        ]), 12),
        fixed in proptest::option::of(0..9_i32),
    ) {
        let entries = fields.iter().zip(given).filter_map(|(field, value)| Some((field.name.clone(), value?)));
        let given: Map<String, Value> = entries.chain(fixed.map(|fixed| ("fixed".into(), json!(fixed)))).collect();
        let tools = tool(&fields);
        let cx = Context::new("call");
        let called = block_on(tools.call("tool", &Value::Object(given.clone()).to_string(), &cx));
        let got = match called {
            Ok(output) => Ok(output.decode::<Value>().unwrap()),
            Err(CallError::Rejected(rejection)) => Err(rejection.to_json()),
            Err(other) => panic!("{other:?}"),
        };
        let written = |result: &Result<Value, Value>| format!("{result:?}");
        prop_assert!(!written(&got).contains("secret"));
        let expected = expect(&fields, &given);
        prop_assert_eq!(&got, &expected);
        prop_assert_eq!(written(&got), written(&expected));
    }

    #[test]
    fn no_arguments_cause_a_panic(fields in fields(), text in prop_oneof![
        r#"[{}\[\]",:0-9a-f\\u \-.e]{0,24}"#,
        r#"\{("[a-f]|"fixe?d)":("x"|5|null|\[\]|\{"a":1\})(,("[a-f]":("x"|[0-9]|\{\}))){0,4}\}"#,
    ]) {
        let called = block_on(tool(&fields).call("tool", &text, &Context::new("call")));
        prop_assert!(!matches!(called, Err(CallError::Panicked { .. })), "{:?}", called);
    }
}
