//! Tests of run-time tools with dynamic parameters: building, schemas, validation and calls.

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use tool_runtime::{
    CallError, Context, Failure, Rejection, Toolset, Validation,
    schema::Dialect,
    tool::ErasedTool,
    toolset::{DynamicField, DynamicTool, DynamicToolBuilder, RuntimeTool},
};

pub(crate) fn trip() -> Value {
    json!({
        "type": "object",
        "properties": {
            "from": { "$ref": "#/$defs/city" },
            "to": { "$ref": "#/$defs/city", "description": "Where to." },
            "seats": { "type": "integer", "minimum": 1, "default": 1 },
            "class": { "enum": ["first", "second"] },
        },
        "required": ["from", "to", "class"],
        "$defs": { "city": { "type": "string", "minLength": 2 } },
    })
}

/// Returns a field whose validator accepts the given value.
pub(crate) fn given(name: &str) -> DynamicField {
    DynamicField::new(name).validate(|value, _| value.map_or_else(|| Validation::reject("needed"), Validation::accept))
}

pub(crate) fn begin(schema: Value) -> DynamicToolBuilder {
    RuntimeTool::new("trip", "Books a trip.").input(schema).dynamic()
}

pub(crate) fn finish(tool: DynamicToolBuilder) -> DynamicTool {
    tool.handler(|arguments, _| async { Ok(arguments) }).unwrap()
}

pub(crate) fn call(tool: DynamicTool, arguments: &str) -> Result<Value, Value> {
    let tools = Toolset::new().with(tool).unwrap();
    match tools.call("trip", arguments, &Context::new("call")).now_or_never().expect("the call does not wait") {
        Ok(output) => Ok(output.decode().unwrap()),
        Err(CallError::Rejected(rejection)) => Err(rejection.to_json()),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn build_errors_are_explained() {
    let build = |fields: Vec<DynamicField>| {
        let tool = fields.into_iter().fold(begin(trip()), DynamicToolBuilder::field);
        tool.external().unwrap_err().to_string()
    };
    assert_eq!(build(vec![given("form")]), "the schema of the arguments has no property `form`; did you mean `from`?");
    assert_eq!(build(vec![given("to"), given("to")]), "the parameter `to` is added twice");
    assert_eq!(
        build(vec![DynamicField::new("to")]),
        "the parameter `to` has no validator; add one, or leave it static by not adding it"
    );
    assert_eq!(
        build(vec![given("to").requires(["form"]), given("from")]),
        "`to` waits for `form`, an unknown parameter; did you mean `from`?"
    );
    assert_eq!(build(vec![given("to").hints(["to"])]), "`to` waits for itself");
    assert_eq!(
        build(vec![given("to").requires(["from"]).after(["from"]), given("from")]),
        "`to` names `from` twice; once is enough"
    );
    assert_eq!(
        build(vec![given("to").requires(["from"]), given("from").after(["seats"]), given("seats").requires(["to"])]),
        "parameters wait for each other: `to` -> `from` -> `seats` -> `to`"
    );
    let broken = begin(json!({ "properties": { "a": { "type": "no" } } })).external().unwrap_err().to_string();
    assert!(broken.starts_with("the schema of the arguments cannot be used: "), "{broken}");
    let unnamed = RuntimeTool::new("a b", "").dynamic().external().unwrap_err().to_string();
    assert!(unnamed.contains("invalid tool name"), "{unnamed}");
}

#[test]
fn a_model_may_leave_dynamic_parameters_out() {
    let tool = finish(begin(trip()).field(given("from").description("Where from.")).field(given("to")));
    let shown = tool.spec().input.lowered(Dialect::JsonSchema2020).json().get().to_owned();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["required"], json!(["class"]));
    assert_eq!(shown["additionalProperties"], json!(false));
    assert_eq!(shown["properties"]["from"]["description"], "Where from.");
    assert_eq!(shown["properties"]["to"]["description"], "Where to.");
    assert_eq!(shown["properties"]["seats"], trip()["properties"]["seats"]);
    assert!(tool.warnings().is_empty());
    let all = ["from", "to", "seats", "class"].map(given).into_iter().fold(begin(trip()), DynamicToolBuilder::field);
    assert_eq!(finish(all).spec().input.neutral().get("required"), None);
}

#[test]
fn an_invalid_value_is_a_problem_of_its_parameter() {
    let tool =
        || finish(begin(trip()).field(given("from")).field(given("to").requires(["from"])).field(given("seats")));
    let answer = call(tool(), r#"{"from":"Rome","to":"x","seets":2,"class":"first"}"#).unwrap_err();
    let results = &answer["validationResults"];
    assert_eq!(results["from"], json!({ "valid": true }));
    assert!(results["to"]["problems"][0].as_str().unwrap().contains("at least 2 characters"), "{answer}");
    assert!(results["seats"]["problems"][0].as_str().unwrap().contains("did you mean `seats`"), "{answer}");

    let answer = call(tool(), r#"{"to":5,"class":"first"}"#).unwrap_err();
    let both = json!({
        "valid": false,
        "problems": ["expected a string of at least 2 characters, got 5"],
        "requiresValidParameters": ["from"],
    });
    assert_eq!(answer["validationResults"]["to"], both);

    let answer = call(tool(), r#"{"from":"Rome","to":"Paris"}"#).unwrap_err();
    assert_eq!(answer["validationResults"]["from"], json!({ "valid": true }));
    assert_eq!(
        answer["validationResults"]["class"]["problems"],
        json!(["missing: expected one of \"first\", \"second\""])
    );
    assert!(call(tool(), "[]").is_err() && call(tool(), "{").is_err());
    assert_eq!(
        call(tool(), r#"{"from":"Rome","to":"Paris","class":"first"}"#).unwrap().to_string(),
        r#"{"from":"Rome","to":"Paris","class":"first","seats":1}"#
    );
}

#[test]
fn a_schema_may_be_a_reference_and_allow_other_names() {
    let schema = json!({
        "$ref": "#/$defs/Trip",
        "$defs": { "Trip": {
            "type": "object",
            "properties": { "to": { "type": "string" }, "next": { "$ref": "#/$defs/Trip" } },
            "required": ["to"],
            "additionalProperties": { "type": "integer" },
        } },
    });
    let tool = || finish(begin(schema.clone()).field(given("to")));
    assert_eq!(call(tool(), r#"{"to":"x","more":1}"#), Ok(json!({ "to": "x", "more": 1 })));
    let answer = call(tool(), r#"{"next":{}}"#).unwrap_err();
    assert_eq!(answer["validationResults"]["to"]["problems"], json!(["needed"]));
    assert!(answer["validationResults"]["next.to"]["problems"][0].as_str().unwrap().starts_with("missing"), "{answer}");
}

#[test]
fn the_normalized_arguments_are_the_call() {
    let tool = finish(begin(trip()).field(DynamicField::new("from").validate(|value, _| {
        let city = value.as_ref().and_then(Value::as_str).unwrap_or("Rome").to_uppercase();
        Validation::accept(Value::from(city))
    })));
    let tools = Toolset::new().with(tool).unwrap();
    let cx = Context::new("call");
    let text = r#"{ "to": "Paris", "from": "rome", "class": "first" }"#;
    let started = tools.prepare("trip", text, &cx).now_or_never().unwrap().unwrap();
    let normalized = r#"{"to":"Paris","from":"ROME","class":"first"}"#;
    assert_eq!(started.normalized.as_deref(), Some(normalized));
    let again = tools.prepare("trip", normalized, &cx).now_or_never().unwrap().unwrap();
    assert!(again.normalized.is_none());
}

#[test]
fn the_model_receives_the_normalized_values() {
    let shout = || {
        DynamicField::new("from").validate(|value, _| match value.as_ref().and_then(Value::as_str) {
            Some(city) => Validation::accept(Value::from(city.to_uppercase())).remark("no need to shout"),
            None => Validation::reject("needed"),
        })
    };
    let call = |output: Option<Value>| {
        let tool = RuntimeTool::new("trip", "").input(trip());
        let tool = match output {
            Some(schema) => tool.output(schema),
            None => tool,
        };
        let tool = tool.dynamic().field(shout()).handler(|_, _| async { Ok(json!({ "id": 7 })) }).unwrap();
        let tools = Toolset::new().with(tool).unwrap();
        let text = r#"{"from":"Rome","to":"Paris","class":"first"}"#;
        let output = tools.call("trip", text, &Context::new("call")).now_or_never().unwrap().unwrap();
        assert_eq!(output.as_json(), Some(r#"{"id":7}"#));
        output.text()
    };
    let seen = "{\"id\":7}\nnote: `from` is understood as \"ROME\"\nnote: no need to shout";
    assert_eq!(call(None), seen);
    let schema = json!({ "type": "object", "properties": { "id": { "type": "integer" } } });
    assert_eq!(call(Some(schema)), seen);
}

#[test]
fn the_cause_of_a_hidden_failure_reaches_only_the_log() {
    let tool = begin(trip())
        .field(
            DynamicField::new("from").validate(|_, _| Err::<Validation<Value>, _>(Failure::hidden("the secret is 42"))),
        )
        .field(DynamicField::new("to").validate(|_, known| Validation::accept(known["from"].clone())));
    let tools = Toolset::new().with(finish(tool)).unwrap();
    let called = tools.call("trip", r#"{"class":"first"}"#, &Context::new("call")).now_or_never().unwrap();
    let error = called.unwrap_err();
    let answer = error.rejection().unwrap().to_json();
    assert!(!answer.to_string().contains("42"), "{answer}");
    for name in ["from", "to"] {
        assert_eq!(answer["validationResults"][name]["problems"][0], "the value could not be checked; try again later");
    }
    let log = error.for_log();
    assert!(log.contains("the secret is 42") && log.contains("a validator sees what it `requires`"), "{log}");
}

#[test]
fn a_validator_cannot_accept_a_value_that_the_schema_refuses() {
    let seats = DynamicField::new("seats").validate(|_, _| Validation::accept(json!(0)));
    let tools = Toolset::new().with(finish(begin(trip()).field(seats))).unwrap();
    let text = r#"{"from":"Rome","to":"Paris","class":"first"}"#;
    let error = tools.call("trip", text, &Context::new("call")).now_or_never().unwrap().unwrap_err();
    let answer = error.rejection().unwrap().to_json();
    assert_eq!(answer["validationResults"]["seats"]["problems"][0], "the value could not be checked; try again later");
    assert!(error.for_log().contains("a validator accepted a value that the schema refuses"), "{}", error.for_log());
}

#[test]
fn arguments_are_checked_as_a_whole() {
    let tool = || {
        let tool = begin(trip()).field(given("from")).field(given("to")).check(|arguments, _| async move {
            if arguments["from"] == arguments["to"] { Err(Rejection::of("to", "somewhere else")) } else { Ok(()) }
        });
        finish(tool)
    };
    let answer = call(tool(), r#"{"from":"Rome","to":"Rome","class":"first"}"#).unwrap_err();
    assert_eq!(answer["validationResults"]["to"]["problems"], json!(["somewhere else"]));
    assert!(call(tool(), r#"{"from":"Rome","to":"Paris","class":"first"}"#).is_ok());
}

#[test]
fn a_validator_sees_its_declared_parameters() {
    let to = DynamicField::new("to").requires(["from", "class"]).hints(["seats"]).validate(|_, known| {
        assert_eq!((known.get("seats"), known.get("nothing"), known.hint("from")), (None, None, None));
        let seen = [&known["from"], &known["class"], known.hint("seats").unwrap_or(&Value::Null)].map(Value::to_string);
        Validation::accept(Value::from(format!("{} {}", known.context().call_id(), seen.join(" "))))
    });
    let tool = finish(begin(trip()).field(given("from")).field(to).field(given("seats")));
    let seen = call(tool, r#"{"from":"Rome","seats":3,"class":"first"}"#).unwrap();
    assert_eq!(seen["to"], r#"call "Rome" "first" 3"#);
}

#[test]
fn the_arguments_of_an_external_tool_are_validated() {
    let tool = RuntimeTool::new("trip", "").input(trip()).output(json!({ "type": "string" })).require_approval();
    let tools = Toolset::new().with(tool.dynamic().field(given("from")).external().unwrap()).unwrap();
    let cx = Context::new("call");
    assert!(tools.call("trip", "{}", &cx).now_or_never().unwrap().unwrap_err().rejection().is_some());
    let text = r#"{"from":"Rome","to":"Paris","class":"first"}"#;
    let started = tools.prepare("trip", text, &cx).now_or_never().unwrap().unwrap();
    assert!(started.needs_approval);
    assert!(matches!(started.work.now_or_never(), Some(Err(CallError::NotExecuted))));
    assert!(tools.read_external_output("trip", "\"done\"").is_ok() && tools.read_external_output("trip", "5").is_err());
}

#[tokio::test(start_paused = true)]
async fn independent_validators_run_at_the_same_time() {
    let slow = |name: &str| {
        DynamicField::new(name).validate_async(|value, _| async move {
            tokio::time::sleep(Duration::from_millis(60)).await;
            value.map_or_else(|| Validation::reject("needed"), Validation::accept)
        })
    };
    let all = |to: DynamicField| finish(begin(trip()).field(slow("from")).field(to).field(slow("seats")));
    let text = r#"{"from":"Rome","to":"Paris","class":"first"}"#;
    for (to, expected) in [(slow("to"), 60), (slow("to").requires(["from"]), 120), (slow("to").after(["from"]), 120)] {
        let tools = Toolset::new().with(all(to)).unwrap();
        let began = tokio::time::Instant::now();
        tools.call("trip", text, &Context::new("call")).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(expected));
    }
}
